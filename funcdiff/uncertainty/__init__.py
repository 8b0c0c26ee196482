"""Uncertainty of results: propagated covariances, errors of estimates, designs of experiments."""

from funcdiff.uncertainty import design as design
