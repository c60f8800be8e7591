"""Ordinary chains: Gibbs and MC-SAT."""
