"""Functions of neural networks, stable and in plain NumPy where nothing is traced."""

from typing import TYPE_CHECKING

from funcdiff.api.missing import missing
from funcdiff.core.late import late_names
from funcdiff.nn.activations import gelu, log_softmax, logsumexp, relu, sigmoid, softmax, softplus
from funcdiff.nn.sliding import avg_pool, conv, max_pool

__all__ = [
    "avg_pool",
    "conv",
    "gelu",
    "log_softmax",
    "logsumexp",
    "max_pool",
    "relu",
    "sigmoid",
    "softmax",
    "softplus",
]

if not TYPE_CHECKING:  # as in funcdiff itself
    __getattr__ = late_names(__name__, {}, lambda name: missing(name, __all__, (), __name__))
