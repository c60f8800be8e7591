"""Events: what people write, what it means, and how elimination sees it."""
