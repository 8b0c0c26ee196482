"""Functions of neural networks, stable and in plain NumPy where nothing is traced."""

from funcdiff.nn.activations import gelu, relu, sigmoid, softplus
from funcdiff.nn.convolution import conv
from funcdiff.nn.normalization import log_softmax, logsumexp, softmax
from funcdiff.nn.pooling import avg_pool, max_pool

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
