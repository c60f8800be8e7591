"""Questions about a model: settings, which method answers and why, and the answer."""
