"""BIF and XMLBIF: Bayesian networks with named values."""
