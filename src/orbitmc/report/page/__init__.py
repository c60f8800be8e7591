"""One HTML page for an answer: a single file that needs no network."""
