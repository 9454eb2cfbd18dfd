"""Checks of what users pass in, threads and interruption, SQLite files."""
