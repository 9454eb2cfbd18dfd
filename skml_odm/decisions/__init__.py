"""From scores to labels."""
