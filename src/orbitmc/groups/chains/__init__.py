"""Stabilizer chains: orders, membership, uniform elements."""
