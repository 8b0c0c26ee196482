"""``autograd.scipy``: `funcdiff.scipy`, under the names that autograd has."""

from funcdiff.autograd.names import attributes

__getattr__, __dir__ = attributes(__name__)
