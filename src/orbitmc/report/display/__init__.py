"""Answers as HTML with hand-written SVG: for notebooks and for pages."""
