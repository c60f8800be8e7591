"""Most probable states: elimination by maxima, and bounds where that costs too much."""
