"""What families look for in a model: lattices, parts, twins, generators."""
