"""Primitives of linear algebra: systems, factorizations, spectra."""
