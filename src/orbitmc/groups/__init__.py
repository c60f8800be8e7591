"""Where to jump: permutations of points and their values, pure mathematics without models."""
