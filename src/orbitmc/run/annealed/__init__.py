"""Chains that are cooled down from the uniform distribution, and what that says of log Z."""
