"""Which method and kernel answer a question, and why."""
