"""What watches a run: progress, and how its errors shrink."""
