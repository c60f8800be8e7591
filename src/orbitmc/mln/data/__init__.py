"""What is known about ground atoms, and which of them are asked about."""
