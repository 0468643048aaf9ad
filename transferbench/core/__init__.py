"""Numerical core of the models: factorisation, losses, graphs, eigenpairs, topics."""
