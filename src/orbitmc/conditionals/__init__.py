"""The distribution of one variable given all others."""
