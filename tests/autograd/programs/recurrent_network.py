"""A recurrent network learns to continue a word; one line for every step in time."""

from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import value_and_grad
from autograd.misc.optimizers import rmsprop, sgd

ALPHABET = "abdgr"
WORD = "abracadabra".replace("c", "g") + "bad"


def with_ones(x: Any) -> Any:
    return np.hstack([x, np.ones((x.shape[0], 1))])


def log_probabilities(parameters: dict[str, Any], letters: Any) -> list[Any]:
    state = np.tanh(np.reshape(parameters["start"], (1, -1)))
    found = []
    for letter in letters:
        state = np.tanh(np.dot(np.hstack([with_ones(letter), state]), parameters["change"]))
        scores = np.dot(with_ones(state), parameters["read"])
        found.append(scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True)))
    return found


def run(steps: int = 6) -> dict[str, Any]:
    random = npr.RandomState(1)
    letters = np.eye(len(ALPHABET))[[ALPHABET.index(c) for c in WORD]][:, None, :]
    n, m = len(ALPHABET), 7
    parameters = {
        "start": 0.1 * random.randn(m),
        "change": 0.3 * random.randn(n + 1 + m, m),
        "read": 0.3 * random.randn(m + 1, n),
    }

    def loss(parameters: dict[str, Any]) -> Any:
        guesses = log_probabilities(parameters, letters[:-1])
        hits = [np.sum(g * y) for g, y in zip(guesses, letters[1:], strict=True)]
        return -sum(hits) / len(hits)

    both = value_and_grad(loss)
    by_momentum = sgd(lambda p, _i: both(p)[1], parameters, num_iters=steps, step_size=0.5)
    trained = rmsprop(lambda p, _i: both(p)[1], by_momentum, num_iters=steps, step_size=0.02)
    value, gradient = both(trained)
    return {"value": value, "start": gradient["start"], "change": trained["change"]}
