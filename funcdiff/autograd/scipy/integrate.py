"""``autograd.scipy.integrate``: `funcdiff.scipy.integrate`."""

from funcdiff.autograd.names import attributes
from funcdiff.scipy import integrate

__getattr__, __dir__ = attributes(__name__, integrate)
