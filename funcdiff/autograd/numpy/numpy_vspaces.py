"""``autograd.numpy.numpy_vspaces``: the vector spaces of arrays, which have one class here."""

from funcdiff.autograd.spaces import VSpace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace", "VSpace"]

ArrayVSpace = ComplexArrayVSpace = VSpace
