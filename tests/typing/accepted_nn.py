"""Programs with the functions of networks."""

from typing import Any, NamedTuple, assert_type

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd

Array = NDArray[np.float32]


class Network(NamedTuple):
    kernel: Array
    weights: Array


def scores(network: Network, images: Array) -> Array:
    hidden = fd.nn.relu(fd.nn.conv(images, network.kernel, stride=(2, 2), padding="same"))
    pooled = fd.nn.max_pool(hidden, 2)
    assert_type(pooled, Array)
    return pooled.reshape(len(images), -1) @ network.weights


def loss(network: Network, images: Array, labels: NDArray[np.int64]) -> np.float32:
    entries = fd.nn.log_softmax(scores(network, images))[np.arange(len(labels)), labels]
    return -np.mean(entries, dtype=np.float32)


def activations() -> None:
    x, k, y = np.linspace(-1, 1, 3), np.arange(3), np.float32(1)
    assert_type(fd.nn.gelu(x), NDArray[np.float64])
    assert_type(fd.nn.gelu(1.0, approximate="tanh"), np.float64)
    assert_type(fd.nn.sigmoid(y), np.float32)
    assert_type(fd.nn.softplus(k), NDArray[np.float64])
    fd.elementwise_grad(fd.nn.relu)(x)


def sums_of_exponentials() -> None:
    x = np.linspace(-1, 1, 3)
    assert_type(fd.nn.softmax(x, axis=0), NDArray[np.float64])
    assert_type(fd.nn.log_softmax([1.0, 2.0]), NDArray[np.float64])
    assert_type(fd.nn.logsumexp(x), np.float64)
    assert_type(fd.nn.logsumexp(x, 0, keepdims=True), NDArray[np.float64])
    fd.grad(fd.nn.logsumexp)(x)


def softplus(x: float) -> np.float64:
    return fd.nn.softplus(x)


def transformed() -> None:
    x = np.linspace(-1, 1, 3)
    assert_type(fd.vmap(fd.nn.softplus)(x), NDArray[np.float64])
    assert_type(fd.jit(fd.nn.softplus)(x), NDArray[np.float64])
    assert_type(fd.jvp(fd.nn.gelu, (x,), (x,)), tuple[NDArray[np.float64], NDArray[np.float64]])
    fd.jacobian(fd.nn.softmax)(x)
    fd.derivative(fd.nn.sigmoid)(1.0)
    # of overloads, mypy hands on the first, that of arrays: for numbers, a function says so
    assert_type(fd.grad(softplus)(1.0), float)
    assert_type(fd.value_and_grad(softplus)(1.0), tuple[np.float64, float])


def windows() -> None:
    k: NDArray[np.int64] = np.ones((1, 4), np.int64)
    assert_type(fd.nn.avg_pool(k, (2,), stride=1), NDArray[np.float64])
    assert_type(fd.nn.conv([[1.0, 2.0]], [[[1.0]]]), NDArray[Any])


def training() -> None:
    network = Network(np.ones((4, 1, 3, 3), np.float32), np.ones((16, 3), np.float32))
    images, labels = np.ones((2, 1, 8, 8), np.float32), np.array([0, 2])
    assert_type(fd.grad(loss)(network, images, labels), Network)


PROGRAMS = [activations, sums_of_exponentials, transformed, windows, training]
