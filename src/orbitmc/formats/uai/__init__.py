"""UAI: models, evidence and results."""
