"""Families of jumps: what each one is, and for which models it makes sense."""
