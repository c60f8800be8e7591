"""Which jumps pay: families of them, and a race in the warm-up that picks and freezes."""
