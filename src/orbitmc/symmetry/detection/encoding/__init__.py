"""Models as coloured graphs."""
