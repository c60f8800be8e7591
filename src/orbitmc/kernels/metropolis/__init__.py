"""What jumps share: proposals, and the Metropolis rule."""
