"""Sets of variables that are cheap to exchange."""
