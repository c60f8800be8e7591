"""Questions whose runs are kept in files."""
