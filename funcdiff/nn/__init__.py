"""Functions of neural networks, stable and in plain NumPy where nothing is traced."""

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
