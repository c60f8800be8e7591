"""Weights of Markov logic programs, from databases that show what is true."""
