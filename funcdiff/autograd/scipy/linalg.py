"""``autograd.scipy.linalg``: `funcdiff.scipy.linalg`."""

from funcdiff.autograd.names import attributes
from funcdiff.scipy import linalg

__getattr__, __dir__ = attributes(__name__, linalg)
