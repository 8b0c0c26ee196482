"""Memory cells with three gates learn the parity of bits seen so far."""

from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam
from autograd.scipy.special import expit

GATES = ("forget", "write", "show", "content")


def parities(parameters: dict[str, Any], bits: Any) -> Any:
    count, m = bits.shape[1], parameters["cell"].shape[0]
    shown = np.zeros((count, m))
    cell = np.repeat(parameters["cell"][None], count, axis=0)
    found = []
    for bit in bits:
        x = np.concatenate((bit[:, None], shown, np.ones((count, 1))), axis=1)
        pre = {gate: np.dot(x, parameters[gate]) for gate in GATES}
        cell = expit(pre["forget"]) * cell + expit(pre["write"]) * np.tanh(pre["content"])
        shown = expit(pre["show"]) * np.tanh(cell)
        found.append(expit(np.dot(shown, parameters["read"])))
    return np.array(found)


def run(steps: int = 5) -> dict[str, Any]:
    random = npr.RandomState(2)
    bits = random.randint(0, 2, (8, 12)).astype(float)
    wanted = np.cumsum(bits, axis=0) % 2
    m = 5
    parameters = {gate: 0.4 * random.randn(m + 2, m) for gate in GATES}
    parameters.update(cell=np.zeros(m), read=random.randn(m))

    def loss(parameters: dict[str, Any], _step: int) -> Any:
        p = parities(parameters, bits)
        return -np.mean(wanted * np.log(p) + (1 - wanted) * np.log(1 - p))

    trained = adam(grad(loss), parameters, num_iters=steps, step_size=0.03)
    return {"loss": loss(trained, 0), "forget": trained["forget"], "cell": trained["cell"]}
