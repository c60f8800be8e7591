"""What `docs/skeletons` offers to copy works as it stands."""
