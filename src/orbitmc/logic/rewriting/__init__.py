"""Programs put into other words before they are ground: counts, degrees of truth, constraints."""
