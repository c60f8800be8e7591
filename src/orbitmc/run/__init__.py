"""Repeat a kernel: packs of chains, in threads, to be stopped and resumed at any time."""
