"""``scipy.cluster`` for traced arrays: ``from funcdiff.scipy import cluster``."""

from funcdiff.scipy.covered import namespace

__getattr__, __dir__ = namespace("scipy.cluster")
