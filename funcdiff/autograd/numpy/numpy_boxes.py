"""``autograd.numpy.numpy_boxes``: what ``isinstance(x, ArrayBox)`` asks for."""

from funcdiff.autograd.boxes import Box as ArrayBox

__all__ = ["ArrayBox"]
