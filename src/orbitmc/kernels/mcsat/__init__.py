"""MC-SAT: slices, and states drawn from them."""
