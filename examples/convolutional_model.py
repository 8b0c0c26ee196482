"""A small convolutional network, its loss and Adam, in plain NumPy and `fd.nn`.

Adam works on one vector: `fd.ravel_pytree` makes it of a dataclass of parameters, and back.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd

Array: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.int64]

FILTERS, MORE_FILTERS, POOLED = 8, 16, 2


@dataclass(frozen=True)
class Network:
    """Parameters: two layers of filters of 3x3 pixels with biases, then a matrix to the classes."""

    filters: Array
    bias: Array
    more_filters: Array
    more_bias: Array
    weights: Array


def initial_network(side: int, classes: int, rng: np.random.Generator) -> Network:
    """Draw filters with variance 2/n of n inputs, as half of what follows is cut off by relu."""

    def drawn(*shape: int, inputs: int) -> Array:
        weights: Array = rng.standard_normal(shape, dtype=np.float32)
        return weights * np.float32(np.sqrt(2 / inputs))

    left = MORE_FILTERS * (side // POOLED) ** 2
    return Network(
        filters=drawn(FILTERS, 1, 3, 3, inputs=9),
        bias=np.zeros((FILTERS, 1, 1), np.float32),
        more_filters=drawn(MORE_FILTERS, FILTERS, 3, 3, inputs=9 * FILTERS),
        more_bias=np.zeros((MORE_FILTERS, 1, 1), np.float32),
        weights=drawn(left, classes, inputs=left),
    )


def responses(network: Network, images: Array) -> Array:
    """Return what the first filters make of (n, 1, side, side) images."""
    filtered: Array = fd.nn.conv(images, network.filters, padding="same") + network.bias
    return fd.nn.relu(filtered)


def class_scores(network: Network, images: Array) -> Array:
    """Return the (n, classes) scores of (n, 1, side, side) images."""
    halved = fd.nn.max_pool(responses(network, images), POOLED)
    hidden: Array = fd.nn.conv(halved, network.more_filters, padding="same") + network.more_bias
    scores: Array = fd.nn.relu(hidden).reshape(len(images), -1) @ network.weights
    return scores


def cross_entropy(network: Network, images: Array, labels: Labels) -> np.float32:
    """Return minus the mean log-likelihood of the labels."""
    logs = fd.nn.log_softmax(class_scores(network, images))
    loss: np.float32 = -np.mean(logs[np.arange(len(labels)), labels])
    return loss


def predictions(network: Network, images: Array) -> Labels:
    """Return the class with the highest score for each image."""
    guesses: Labels = np.argmax(class_scores(network, images), axis=1)
    return guesses


def train(
    network: Network,
    images: Array,
    labels: Labels,
    *,
    epochs: int,
    batch_size: int,
    rate: float,
    rng: np.random.Generator,
) -> Iterator[tuple[Network, float]]:
    """Yield the network and the loss after every step of Adam, whose rate falls linearly to 0.

    References
    ----------
    D. P. Kingma and J. Ba, Adam: a method for stochastic optimization, ICLR 2015, algorithm 1.
    """
    vector, network_of = fd.ravel_pytree(network)
    restored: Callable[[Array], Network] = network_of

    def loss(vector: Array, images: Array, labels: Labels) -> np.float32:
        return cross_entropy(restored(vector), images, labels)

    loss_and_gradient = fd.jit(fd.value_and_grad(loss))
    mean, square = np.zeros_like(vector), np.zeros_like(vector)
    step, steps = 0, epochs * (len(labels) // batch_size)
    for _ in range(epochs):
        order = rng.permutation(len(labels))
        for start in range(0, len(labels) - batch_size + 1, batch_size):
            chosen = order[start : start + batch_size]
            value, gradient = loss_and_gradient(vector, images[chosen], labels[chosen])
            step += 1
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.999 * square + 0.001 * gradient**2
            scale = np.sqrt(square / (1 - 0.999**step)) + 1e-8
            length = rate * (1 - step / steps) / (1 - 0.9**step)
            vector = vector - length * mean / scale
            yield restored(vector), float(value)
