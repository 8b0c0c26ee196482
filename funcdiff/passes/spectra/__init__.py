"""Recognises functions of matrices, by eigenvalues or singular values, in derivatives."""
