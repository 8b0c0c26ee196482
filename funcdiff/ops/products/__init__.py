"""Bilinear primitives: contraction, convolution, Fourier transforms."""
