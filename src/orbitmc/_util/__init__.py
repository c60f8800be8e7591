"""How Python becomes machine code, and where machine code is kept."""
