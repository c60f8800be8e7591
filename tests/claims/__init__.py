"""What users are promised, through `import orbitmc as om` and the command line only."""
