"""``autograd.numpy.numpy_boxes``: what ``isinstance(x, ArrayBox)`` asks for."""

from funcdiff.autograd.tracer import Box as ArrayBox

__all__ = ["ArrayBox"]
