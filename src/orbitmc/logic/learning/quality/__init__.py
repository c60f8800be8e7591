"""How good learned weights are: their errors, and how well they predict what they have not seen."""
