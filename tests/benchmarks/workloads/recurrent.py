"""A long short-term memory over a sequence: a Python loop over its steps, and a scan.

S. Hochreiter, J. Schmidhuber, "Long short-term memory", Neural Computation 9(8), 1997, with the
forget gate of F. Gers et al., 2000.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff as fd
from tests.benchmarks.workloads.workload import Workload


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


def in_jax(jax: Any, weights: Any, xs: Any, target: Any) -> Any:
    """Return `loss` in JAX."""
    h = c = jax.numpy.zeros_like(target)
    for x in xs:
        h, c = jax_step(jax, weights, h, c, x)
    return jax.numpy.mean((h - target) ** 2)


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


def gradient(weights: Any, xs: Any, target: Any) -> Any:
    """Return the gradient in the weights: backpropagation through time."""
    U, W, b = weights["input"], weights["hidden"], weights["bias"]
    n = target.shape[1]
    h = c = np.zeros_like(target)
    tape = []
    for x in xs:
        z = x @ U + h @ W + b
        gates = 1.0 / (1.0 + np.exp(-z[:, : 3 * n]))
        i, f, o = gates[:, :n], gates[:, n : 2 * n], gates[:, 2 * n :]
        g = np.tanh(z[:, 3 * n :])
        before, c = c, f * c + i * g
        tanh_c = np.tanh(c)
        tape.append((x, h, before, i, f, o, g, tanh_c))
        h = o * tanh_c
    g_h = 2.0 * (h - target) / target.size
    g_c = np.zeros_like(g_h)
    g_U, g_W, g_b = np.zeros_like(U), np.zeros_like(W), np.zeros_like(b)
    for x, h, before, i, f, o, g, tanh_c in reversed(tape):
        g_c = g_c + g_h * o * (1.0 - tanh_c * tanh_c)
        g_z = np.concatenate(
            [
                g_c * g * i * (1.0 - i),
                g_c * before * f * (1.0 - f),
                g_h * tanh_c * o * (1.0 - o),
                g_c * i * (1.0 - g * g),
            ],
            axis=1,
        )
        g_U += x.T @ g_z
        g_W += h.T @ g_z
        g_b += g_z.sum(axis=0)
        g_h, g_c = g_z @ W.T, g_c * f
    return {"input": g_U, "hidden": g_W, "bias": g_b}


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
        in_jax=scanned_in_jax if scan else in_jax,
        in_torch=in_torch,
    )


WORKLOADS = tuple(lstm(64, 32, 32, 64, scan=scan) for scan in (False, True))
TINY = tuple(lstm(3, 2, 4, 3, scan=scan) for scan in (False, True))
