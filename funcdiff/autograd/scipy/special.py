"""``autograd.scipy.special``: `funcdiff.scipy.special`."""

from funcdiff.autograd.names import attributes
from funcdiff.scipy import special

__getattr__, __dir__ = attributes(__name__, special)
