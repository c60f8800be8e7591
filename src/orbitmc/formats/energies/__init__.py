"""Files of energies: couplings as text, and binary quadratic models of dimod."""
