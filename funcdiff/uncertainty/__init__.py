"""Uncertainty of results: propagation of covariances, errors of estimates, designs of experiments.

All of it is made of public transforms; what functions take and return are containers, of which
the functions here see vectors.
"""

from funcdiff.uncertainty import design

__all__ = ["design"]
