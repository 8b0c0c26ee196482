"""A two-layer network, its loss and Adam, in plain NumPy over a dataclass of parameters.

Nothing here knows that it is being differentiated: `fd.value_and_grad` takes the loss as it
stands and returns the gradient as another `Network`, which `fd.pytree.map` walks with the first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd

Array: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Network:
    """The parameters of ``tanh(x W + b) V + c``: pixels to hidden units to classes."""

    hidden_weights: Array
    hidden_bias: Array
    output_weights: Array
    output_bias: Array


def initial_network(pixels: int, hidden: int, classes: int, rng: np.random.Generator) -> Network:
    """Draw weights with variance 1/n for units of n inputs, so that signals keep their size."""
    return Network(
        hidden_weights=rng.standard_normal((pixels, hidden)) / np.sqrt(pixels),
        hidden_bias=np.zeros(hidden),
        output_weights=rng.standard_normal((hidden, classes)) / np.sqrt(hidden),
        output_bias=np.zeros(classes),
    )


def class_scores(network: Network, images: Array) -> Array:
    """Return the (n, classes) scores of (n, pixels) images."""
    hidden = np.tanh(images @ network.hidden_weights + network.hidden_bias)
    return hidden @ network.output_weights + network.output_bias


def cross_entropy(network: Network, images: Array, labels: Labels) -> np.float64:
    """Return the mean of ``logsumexp(scores) - scores[label]``, minus the log-likelihood."""
    scores = class_scores(network, images)
    scores = scores - np.max(scores, axis=1, keepdims=True)
    of_the_label = scores[np.arange(len(labels)), labels]
    loss: np.float64 = np.mean(np.log(np.sum(np.exp(scores), axis=1)) - of_the_label)
    return loss


def predictions(network: Network, images: Array) -> Labels:
    """Return the class with the highest score for each image."""
    guesses: Labels = np.argmax(class_scores(network, images), axis=1)
    return guesses


def accuracy(network: Network, images: Array, labels: Labels) -> float:
    """Return the share of images whose class is predicted rightly."""
    return float(np.mean(predictions(network, images) == labels))


@dataclass(frozen=True)
class Adam:
    """A network in training, with the running means of its gradient and of its square.

    References
    ----------
    D. P. Kingma and J. Ba, Adam: a method for stochastic optimization, ICLR 2015, algorithm 1.
    """

    network: Network
    mean: Network
    square: Network
    steps: int = 0

    @classmethod
    def start(cls, network: Network) -> "Adam":
        """Begin with zero means."""
        zeros = fd.pytree.map(np.zeros_like, network)
        return cls(network, mean=zeros, square=zeros)

    def step(
        self,
        gradient: Network,
        *,
        rate: float,
        decay: float = 0.9,
        square_decay: float = 0.999,
        epsilon: float = 1e-8,
    ) -> "Adam":
        """Follow one gradient: w - rate · m̂ / (√v̂ + ε), with the bias-corrected means m̂ and v̂."""
        steps = self.steps + 1

        def update_mean(m: Array, g: Array) -> Array:
            return decay * m + (1 - decay) * g

        def update_square(v: Array, g: Array) -> Array:
            return square_decay * v + (1 - square_decay) * g**2

        def update_weights(w: Array, m: Array, v: Array) -> Array:
            m, v = m / (1 - decay**steps), v / (1 - square_decay**steps)
            return w - rate * m / (np.sqrt(v) + epsilon)

        mean = fd.pytree.map(update_mean, self.mean, gradient)
        square = fd.pytree.map(update_square, self.square, gradient)
        network = fd.pytree.map(update_weights, self.network, mean, square)
        return Adam(network, mean, square, steps)


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
    """Yield the network and the loss of the minibatch after each step of Adam."""
    loss_and_gradient = fd.value_and_grad(cross_entropy)
    adam = Adam.start(network)
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(images), batch_size):
            batch = order[start : start + batch_size]
            loss, gradient = loss_and_gradient(adam.network, images[batch], labels[batch])
            adam = adam.step(gradient, rate=rate)
            yield adam.network, float(loss)


def saliency(network: Network, images: Array, labels: Labels) -> Array:
    """Return d(score of its own label)/d(pixel) for each image, in the shape of the images.

    One-hot rows as the cotangent of all scores choose one score per image, and no image
    influences another's scores, so a single pass backward gives every image its own gradient.
    """
    scores, scores_vjp = fd.vjp(lambda pixels: class_scores(network, pixels), images)
    one_hot = np.eye(scores.shape[1])[labels]
    return scores_vjp(one_hot)[0]


def central_difference_error(
    loss: Callable[[Network], Any], network: Network, *, step: float = 1e-5
) -> float:
    """Compare ``fd.grad(loss)`` with central differences in every single parameter.

    Returned is the largest deviation, relative to the largest entry of the gradient. About
    1e-9 is what rounding allows: the loss has 16 digits, and the differences keep ten or so.
    """
    gradient, _ = fd.ravel_pytree(fd.grad(loss)(network))
    parameters, unravel = fd.ravel_pytree(network)
    differences = np.empty_like(parameters)
    for i, parameter in enumerate(parameters):
        shifted = parameters.copy()
        shifted[i] = parameter + step
        above = loss(unravel(shifted))
        shifted[i] = parameter - step
        below = loss(unravel(shifted))
        differences[i] = (above - below) / (2 * step)
    return float(np.max(np.abs(gradient - differences)) / np.max(np.abs(differences)))
