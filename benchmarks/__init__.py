"""Measurements side by side with peers; run ``python -m benchmarks`` for the list."""
