"""A long short-term memory that foretells letters: two layers whose weights are vectors.

The recurrent model of F. Srajer, Z. Kukelova, A. Fitzgibbon, "A benchmark of selected algorithmic
differentiation tools on some problems in computer vision and machine learning", arXiv:1807.10129,
2018: two of four gates see the input and two the state, element by element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff as fd
from docs.benchmarks.workloads.workload import Workload


def sigmoid(np_: Any, x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np_.exp(-x))


def step(np_: Any, parameters: Any, state: Any, x: Any) -> Any:
    """Return the next state, a pair of hidden values and cells for each layer, and the output."""
    after = []
    x = x * parameters["ends"][0]
    for (weights, biases), (h, c) in zip(parameters["layers"], state, strict=True):
        forget = sigmoid(np_, x * weights[0] + biases[0])
        enter = sigmoid(np_, h * weights[1] + biases[1])
        leave = sigmoid(np_, x * weights[2] + biases[2])
        c = c * forget + enter * np_.tanh(h * weights[3] + biases[3])
        x = leave * np_.tanh(c)
        after.append((x, c))
    return after, x * parameters["ends"][1] + parameters["ends"][2]


def cross_entropy(np_: Any, outputs: Any, letters: Any) -> Any:
    """Return the mean surprise at the letters, whose normaliser has a constant of 2 in it."""
    normalisers = np_.log(np_.sum(np_.exp(outputs), 1) + 2.0)
    return -np_.mean(np_.sum(letters * (outputs - normalisers[:, None]), 1))


def looped(np_: Any, parameters: Any, state: Any, letters: Any) -> Any:
    """Return the loss of (steps + 1, d) letters; works in each library."""
    outputs = []
    for x in letters[:-1]:
        state, y = step(np_, parameters, state, x)
        outputs.append(y)
    return cross_entropy(np_, np_.stack(outputs), letters[1:])


def scanned(np_: Any, parameters: Any, state: Any, letters: Any) -> Any:
    """Return the same by `fd.scan`."""
    _, outputs = fd.scan(lambda state, x: step(np_, parameters, state, x), state, letters[:-1])
    return cross_entropy(np_, outputs, letters[1:])


def scanned_in_jax(jax: Any, parameters: Any, state: Any, letters: Any) -> Any:
    """Return the same by ``jax.lax.scan``."""
    np_ = jax.numpy
    _, outputs = jax.lax.scan(lambda state, x: step(np_, parameters, state, x), state, letters[:-1])
    return cross_entropy(np_, outputs, letters[1:])


def layer_forwards(layer: Any, start: Any, xs: Any) -> tuple[Any, ...]:
    """Return hidden values and cells with those of the start, and what else the way back needs."""
    (weights, biases), (h, c), (steps, d) = layer, start, xs.shape
    forget, leave = sigmoid(np, xs[:, None] * weights[0::2] + biases[0::2]).transpose(1, 0, 2)
    hidden, cells = np.empty((2, steps + 1, d))
    inner, tanhs = np.empty((steps, 2, d)), np.empty((steps, d))
    hidden[0], cells[0] = h, c
    halves = np.array([[0.5], [1.0]])  # the sigmoid is a tanh of half, too
    into, offsets = weights[1::2] * halves, biases[1::2] * halves
    product = np.empty(d)
    for t in range(steps):
        z = np.multiply(hidden[t], into, out=inner[t])
        z += offsets
        np.tanh(z, out=z)
        z[0] += 1.0
        np.multiply(z[0], z[1], out=product)
        c = np.multiply(cells[t], forget[t], out=cells[t + 1])
        product *= 0.5
        c += product
        np.multiply(leave[t], np.tanh(c, out=tanhs[t]), out=hidden[t + 1])
    inner[:, 0] *= 0.5
    return hidden, cells, (forget, leave, inner[:, 0], inner[:, 1], tanhs)


def layer_backwards(layer: Any, xs: Any, forwards: tuple[Any, ...], g_out: Any) -> Any:
    """Return the gradients in the inputs, weights and biases of a layer."""
    weights, _ = layer
    hidden, cells, (forget, leave, enter, proposed, tanhs) = forwards
    steps, d = xs.shape
    slopes = np.empty((4, steps, d))  # of the cell or the hidden value in each gate's argument
    np.multiply(cells[:-1], forget * (1.0 - forget), out=slopes[0])
    np.multiply(proposed, enter * (1.0 - enter), out=slopes[1])
    np.multiply(tanhs, leave * (1.0 - leave), out=slopes[2])
    np.multiply(enter, 1.0 - proposed * proposed, out=slopes[3])
    through = leave * (1.0 - tanhs * tanhs)
    before = slopes[1] * weights[1] + slopes[3] * weights[3]
    g_hidden, g_cells = g_out, np.empty((steps, d))
    g_c, product = np.zeros(d), np.empty(d)
    for t in range(steps - 1, -1, -1):
        g_c += np.multiply(g_hidden[t], through[t], out=product)
        g_cells[t] = g_c
        if t > 0:
            g_hidden[t - 1] += np.multiply(g_c, before[t], out=product)
        g_c *= forget[t]
    slopes[[0, 1, 3]] *= g_cells
    slopes[2] *= g_hidden
    g_weights = np.empty((4, d))
    g_weights[0::2] = np.einsum("ktd,td->kd", slopes[0::2], xs)
    g_weights[1::2] = np.einsum("ktd,td->kd", slopes[1::2], hidden[:-1])
    return slopes[0] * weights[0] + slopes[2] * weights[2], g_weights, slopes.sum(axis=1)


def gradient(parameters: Any, state: Any, letters: Any) -> Any:
    """Return the gradient in the parameters, layer by layer rather than step by step."""
    (first, second), ends, letters_in = parameters["layers"], parameters["ends"], letters[:-1]
    xs = letters_in * ends[0]
    below = layer_forwards(first, state[0], xs)
    above = layer_forwards(second, state[1], below[0][1:])
    outputs = above[0][1:] * ends[1]
    outputs += ends[2]
    np.exp(outputs, out=outputs)
    outputs /= outputs.sum(axis=1, keepdims=True) + 2.0
    outputs *= letters[1:].sum(axis=1, keepdims=True)
    outputs -= letters[1:]
    outputs /= len(xs)
    g_above, *g_second = layer_backwards(second, below[0][1:], above, outputs * ends[1])
    g_below, *g_first = layer_backwards(first, xs, below, g_above)
    of_ends = [
        np.einsum("td,td->d", g_below, letters_in),
        np.einsum("td,td->d", outputs, above[0][1:]),
        outputs.sum(axis=0),
    ]
    return {"layers": [tuple(g_first), tuple(g_second)], "ends": np.array(of_ends)}


def letters_lstm(steps: int, d: int, *, scan: bool) -> Workload:
    """Return the workload of d bits for each letter."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        layers = [(rng.normal(size=(4, d)), rng.normal(size=(4, d))) for _ in range(2)]
        state = [(rng.normal(size=d), rng.normal(size=d)) for _ in range(2)]
        bits = rng.integers(0, 2, (steps + 1, d)).astype(np.float64)
        return {"layers": layers, "ends": rng.normal(size=(3, d))}, state, bits

    return Workload(
        name=f"LSTM of letters, {steps} steps, {'scan' if scan else 'loop'}",
        arguments=arguments,
        function=scanned if scan else looped,
        by_hand=gradient,
        in_autograd=lambda autograd, *rest: looped(autograd.numpy, *rest),
        in_jax=scanned_in_jax,
        in_torch=looped,
        is_loop=True,
    )


WORKLOADS = (
    letters_lstm(100, 14, scan=False),
    letters_lstm(100, 14, scan=True),
    letters_lstm(1024, 14, scan=True),
)
TINY = (letters_lstm(3, 4, scan=False), letters_lstm(3, 4, scan=True))
