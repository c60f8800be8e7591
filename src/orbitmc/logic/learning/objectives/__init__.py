"""What learning climbs: likelihoods, priors, and ways to climb."""
