"""Exact answers: elimination, enumeration, perfect samples."""
