"""Models as JSON, and JSON as its standard says."""
