"""``autograd.misc.optimizers``: gradient descent on containers of parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.autograd.misc.flatten import flatten

__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any] | None


def unflatten_optimizer(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimizer of containers, given one of vectors.

    Parameters
    ----------
    optimize
        ``optimize(grad, x, callback, ...)`` returns a vector like `x`.

    Returns
    -------
    callable
        The same, where `x`, what `grad` takes and returns and what `callback` is shown are
        containers.
    """

    @functools.wraps(optimize)
    def optimize_container(
        grad: Gradient, x0: Any, callback: Callback = None, *args: Any, **kwargs: Any
    ) -> Any:
        start, unflatten = flatten(x0)

        def gradient(x: Any, i: int) -> Any:
            return flatten(grad(unflatten(x), i))[0]

        def show(x: Any, i: int, g: Any) -> None:
            if callback:
                callback(unflatten(x), i, unflatten(g))

        return unflatten(optimize(gradient, start, show if callback else None, *args, **kwargs))

    return optimize_container


@unflatten_optimizer
def sgd(
    grad: Gradient,
    x: Any,
    callback: Callback = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Return `x` after steps of gradient descent with momentum.

    Parameters
    ----------
    grad
        ``grad(x, i)`` returns the gradient in iteration `i`.
    x
        Where to start: a container of arrays.
    callback
        Called as ``callback(x, i, gradient)`` before each step.
    num_iters, step_size, mass
        The velocity is ``mass·v - (1 - mass)·g``, a step ``step_size·v``.

    Examples
    --------
    >>> found = sgd(lambda x, i: {"a": 2 * (x["a"] - 3)}, {"a": 1.0}, num_iters=200)
    >>> print(found["a"].round(2))
    3.0
    """
    velocity = np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        velocity = mass * velocity - (1 - mass) * g
        x = x + step_size * velocity
    return x


@unflatten_optimizer
def rmsprop(
    grad: Gradient,
    x: Any,
    callback: Callback = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Return `x` after steps along the gradient over the root of its mean square, begun at 1.

    The parameters are those of `sgd`; `gamma` is the weight of the past in the mean.
    """
    mean_square = np.ones(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        mean_square = gamma * mean_square + (1 - gamma) * g**2
        x = x - step_size * g / (np.sqrt(mean_square) + eps)
    return x


@unflatten_optimizer
def adam(
    grad: Gradient,
    x: Any,
    callback: Callback = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Return `x` after steps of Adam.

    The parameters are those of `sgd`; `b1` and `b2` are the weights of the past in the means of
    the gradient and of its square.

    References
    ----------
    D. P. Kingma and J. Ba, Adam: a method for stochastic optimization, ICLR 2015.
    """
    mean, mean_square = np.zeros(len(x)), np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        mean = b1 * mean + (1 - b1) * g
        mean_square = b2 * mean_square + (1 - b2) * g**2
        unbiased = mean / (1 - b1 ** (i + 1))
        x = x - step_size * unbiased / (np.sqrt(mean_square / (1 - b2 ** (i + 1))) + eps)
    return x
