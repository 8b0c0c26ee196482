"""``autograd.numpy.numpy_boxes``: `ArrayBox`, for ``isinstance(x, ArrayBox)``."""

from funcdiff.autograd import builtins
from funcdiff.autograd.box_classes import Box as ArrayBox
from funcdiff.autograd.names import attributes

__all__ = ["ArrayBox"]

__getattr__, __dir__ = attributes(__name__, builtins)
