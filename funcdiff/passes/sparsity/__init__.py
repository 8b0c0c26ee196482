"""Sparse Jacobians: which elements of the results of a linear program depend on which inputs."""
