"""``autograd.misc``: containers as vectors, optimizers, fixed points."""

from funcdiff.autograd.misc.flatten import flatten
from funcdiff.autograd.misc.tracers import const_graph
from funcdiff.autograd.names import attributes

__all__ = ["const_graph", "flatten"]

__getattr__, __dir__ = attributes(__name__)
