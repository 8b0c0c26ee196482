"""A long short-term memory over a sequence: a Python loop over its steps, and a scan.

S. Hochreiter, J. Schmidhuber, "Long short-term memory", Neural Computation 9(8), 1997, with the
forget gate of F. Gers et al., 2000.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff as fd
from docs.benchmarks.workloads.workload import Workload


def sigmoid(np_: Any, x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np_.exp(-x))


def step(np_: Any, weights: Any, h: Any, c: Any, x: Any) -> Any:
    """Return the next hidden state and cell, (batch, n) each."""
    n = h.shape[1]
    z = x @ weights["input"] + h @ weights["hidden"] + weights["bias"]
    i, f, o = (sigmoid(np_, z[:, k * n : (k + 1) * n]) for k in range(3))
    c = f * c + i * np_.tanh(z[:, 3 * n :])
    return o * np_.tanh(c), c


def loss(np_: Any, weights: Any, xs: Any, target: Any) -> Any:
    """Return the squared error of the last hidden state for (steps, batch, inputs) numbers."""
    h = c = np_.zeros_like(target)
    for x in xs:
        h, c = step(np_, weights, h, c, x)
    return np_.mean((h - target) ** 2)


def in_autograd(autograd: Any, weights: Any, xs: Any, target: Any) -> Any:
    """Return the same in autograd, which has no scan."""
    return loss(autograd.numpy, weights, xs, target)


def scanned(np_: Any, weights: Any, xs: Any, target: Any) -> Any:
    """Return the same by `fd.scan`."""

    def body(state: Any, x: Any) -> Any:
        h, c = state
        return step(np_, weights, h, c, x), None

    zero = np_.zeros_like(target)
    (h, _), _ = fd.scan(body, (zero, zero), xs)
    return np_.mean((h - target) ** 2)


def jax_step(jax: Any, weights: Any, h: Any, c: Any, x: Any) -> Any:
    """Return the next hidden state and cell in JAX."""
    n = h.shape[1]
    z = x @ weights["input"] + h @ weights["hidden"] + weights["bias"]
    i, f, o = (jax.nn.sigmoid(z[:, k * n : (k + 1) * n]) for k in range(3))
    c = f * c + i * jax.numpy.tanh(z[:, 3 * n :])
    return o * jax.numpy.tanh(c), c


def scanned_in_jax(jax: Any, weights: Any, xs: Any, target: Any) -> Any:
    """Return `loss` by ``jax.lax.scan``."""

    def body(state: Any, x: Any) -> Any:
        h, c = state
        return jax_step(jax, weights, h, c, x), None

    zero = jax.numpy.zeros_like(target)
    (h, _), _ = jax.lax.scan(body, (zero, zero), xs)
    return jax.numpy.mean((h - target) ** 2)


def in_torch(torch: Any, weights: Any, xs: Any, target: Any) -> Any:
    """Return `loss` in PyTorch."""
    h = c = torch.zeros_like(target)
    for x in xs:
        z = x @ weights["input"] + h @ weights["hidden"] + weights["bias"]
        i, f, o, g = torch.chunk(z, 4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return torch.mean((h - target) ** 2)


def states(weights: Any, xs: Any, like: Any) -> tuple[Any, ...]:
    """Return the gates (steps, batch, 4, n), the hidden states, the cells and their tanh."""
    (steps, batch, inputs), n = xs.shape, like.shape[1]
    gates = (xs.reshape(-1, inputs) @ weights["input"]).reshape(steps, batch, 4 * n)
    gates += weights["bias"]
    hidden, cells = np.zeros((2, steps + 1, batch, n))
    tanhs = np.empty((steps, batch, n))
    for t in range(steps):
        z = gates[t]
        z += hidden[t] @ weights["hidden"]
        sigmoids, proposed = z[:, : 3 * n], z[:, 3 * n :]
        np.exp(np.negative(sigmoids, out=sigmoids), out=sigmoids)
        sigmoids += 1.0
        np.reciprocal(sigmoids, out=sigmoids)
        np.tanh(proposed, out=proposed)
        np.multiply(sigmoids[:, n : 2 * n], cells[t], out=cells[t + 1])
        cells[t + 1] += sigmoids[:, :n] * proposed
        np.tanh(cells[t + 1], out=tanhs[t])
        np.multiply(sigmoids[:, 2 * n :], tanhs[t], out=hidden[t + 1])
    return gates.reshape(steps, batch, 4, n), hidden, cells, tanhs


def gradient(weights: Any, xs: Any, target: Any) -> Any:
    """Return the gradient in the weights: backpropagation through time.

    Products with the inputs, slopes and gradients in the weights are of all steps at once; what is
    left in the loop is what needs the step before.
    """
    gates, hidden, cells, tanhs = states(weights, xs, target)
    (steps, batch, inputs), n = xs.shape, target.shape[1]
    i, f, o, g = (gates[:, :, k] for k in range(4))
    slopes = 1.0 - gates
    slopes *= gates
    slopes[:, :, 0] *= g
    slopes[:, :, 1] *= cells[:-1]
    slopes[:, :, 2] *= tanhs
    slopes[:, :, 3] = i * (1.0 - g * g)
    through = np.multiply(tanhs, tanhs, out=tanhs)
    np.subtract(1.0, through, out=through)
    through *= o
    g_h = hidden[-1] - target
    g_h *= 2.0 / target.size
    g_c = np.zeros_like(g_h)
    back = weights["hidden"].T
    for t in range(steps - 1, -1, -1):
        g_c += g_h * through[t]
        g_o = g_h * slopes[t, :, 2]
        slopes[t] *= g_c[:, None]
        slopes[t, :, 2] = g_o
        g_h = slopes[t].reshape(batch, 4 * n) @ back
        g_c *= f[t]
    g_z = slopes.reshape(-1, 4 * n)
    return {
        "input": xs.reshape(-1, inputs).T @ g_z,
        "hidden": hidden[:-1].reshape(-1, n).T @ g_z,
        "bias": g_z.sum(axis=0),
    }


def lstm(steps: int, batch: int, inputs: int, n: int, *, scan: bool) -> Workload:
    """Return the workload of n hidden units."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        weights = {
            "input": rng.normal(size=(inputs, 4 * n)) / np.sqrt(inputs),
            "hidden": rng.normal(size=(n, 4 * n)) / np.sqrt(n),
            "bias": np.zeros(4 * n),
        }
        return weights, rng.normal(size=(steps, batch, inputs)), rng.uniform(size=(batch, n))

    return Workload(
        name=f"LSTM, {steps} steps, {'scan' if scan else 'loop'}",
        arguments=arguments,
        function=scanned if scan else loss,
        by_hand=gradient,
        in_autograd=in_autograd,
        in_jax=scanned_in_jax,
        in_torch=in_torch,
        is_loop=True,
    )


WORKLOADS = tuple(lstm(100, 32, 32, 64, scan=scan) for scan in (False, True))
TINY = tuple(lstm(3, 2, 4, 3, scan=scan) for scan in (False, True))
