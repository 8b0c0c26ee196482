"""Functions whose text is kept in `texts`, as somebody has read it and liked it.

Their lines are part of the texts: a change here changes those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcdiff as fd


def network(params: Any, x: Any, y: Any) -> Any:
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    prediction = hidden @ params["w2"]
    residual = prediction - y
    return np.mean(residual**2)


def cross_entropy(w: Any, x: Any, labels: Any) -> Any:
    logits = x @ w
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_norm = np.log(np.sum(np.exp(shifted), axis=1))
    picked = shifted[np.arange(len(labels)), labels]
    return np.mean(log_norm - picked)


def recurrent(w: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        pre = w @ h + x
        h = np.tanh(pre)
        return h, None

    last, _ = fd.scan(step, np.zeros(3), xs)
    return np.sum(last**2)


def square_root(a: Any) -> Any:
    def goes_on(state: Any) -> Any:
        x, _ = state
        return np.abs(x * x - a) > 1e-9

    def improve(state: Any) -> Any:
        x, count = state
        better = 0.5 * (x + a / x)
        return better, count + 1

    root, count = fd.while_loop(goes_on, improve, (a, 0))
    return {"root": root, "steps": count}


def clipped(x: Any, limit: Any) -> Any:
    length = np.sqrt(np.sum(x * x))
    return fd.cond(length > limit, lambda x: x * (limit / length), lambda x: x, x)


class Kept(NamedTuple):
    """A function, and a call of which the text is kept."""

    f: Callable[..., Any]
    args: tuple[Any, ...]


_random = np.random.default_rng(5)
_PARAMS = {
    "w1": _random.normal(size=(2, 3)),
    "b1": _random.normal(size=3),
    "w2": _random.normal(size=3),
}
_X, _Y = _random.normal(size=(5, 2)), _random.normal(size=5)

KEPT = {
    "network": Kept(network, (_PARAMS, _X, _Y)),
    "network_gradient": Kept(fd.grad(network), (_PARAMS, _X, _Y)),
    "cross_entropy_gradient": Kept(
        fd.grad(cross_entropy), (_random.normal(size=(2, 3)), _X, np.array([0, 2, 1, 1, 0]))
    ),
    "recurrent_gradient": Kept(
        fd.value_and_grad(recurrent), (_random.normal(size=(3, 3)), _random.normal(size=(4, 3)))
    ),
    "square_root": Kept(square_root, (2.0,)),
    "clipped": Kept(fd.vmap(clipped, in_axes=(0, None)), (_X, 1.0)),
}
