"""Runs kept in files, and estimates remembered on the way."""
