"""Machine code: how it is made, kept and found again."""
