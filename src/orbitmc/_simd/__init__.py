"""Vector operations on lanes, and random numbers for them."""
