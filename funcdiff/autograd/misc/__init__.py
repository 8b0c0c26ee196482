"""``autograd.misc``: containers as vectors, optimizers, fixed points."""

from funcdiff.autograd.misc.flatten import flatten
from funcdiff.autograd.misc.tracers import const_graph

__all__ = ["const_graph", "flatten"]
