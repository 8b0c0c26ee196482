"""Nonlinear programs: minimise a function of containers under constraints, by others' solvers."""
