"""A network for 8 x 8 digits with one hidden layer, 64-128-10, and its cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload

WIDTHS = (64, 128, 10)


def cross_entropy(np_: Any, layers: Any, pixels: Any, targets: Any) -> Any:
    """Return the mean cross-entropy of (batch, 64) images with (batch, 10) one-hot targets."""
    (V, a), (W, b) = layers
    scores = np_.tanh(pixels @ V + a) @ W + b
    scores = scores - np_.max(scores, axis=1, keepdims=True)
    scores = scores - np_.log(np_.sum(np_.exp(scores), axis=1, keepdims=True))
    return -np_.mean(np_.sum(targets * scores, axis=1))


def in_jax(jax: Any, layers: Any, pixels: Any, targets: Any) -> Any:
    """Return the same in JAX."""
    (V, a), (W, b) = layers
    scores = jax.nn.log_softmax(jax.numpy.tanh(pixels @ V + a) @ W + b)
    return -jax.numpy.mean(jax.numpy.sum(targets * scores, axis=1))


def in_torch(torch: Any, layers: Any, pixels: Any, targets: Any) -> Any:
    """Return the same in PyTorch."""
    (V, a), (W, b) = layers
    scores = torch.log_softmax(torch.tanh(pixels @ V + a) @ W + b, dim=1)
    return -torch.mean(torch.sum(targets * scores, dim=1))


def gradient(layers: Any, pixels: Any, targets: Any) -> Any:
    """Return the gradient in the layers; each row of the targets sums to one.

    The scores are transposed, so that maxima and sums run over long rows.
    """
    (V, a), (W, b) = layers
    hidden = pixels @ V
    hidden += a
    np.tanh(hidden, out=hidden)
    scores = W.T @ hidden.T
    scores += b[:, None]
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    scores -= targets.T
    scores /= len(pixels)
    g_W, g_b = hidden.T @ scores.T, scores.sum(axis=1)
    g_hidden = scores.T @ W.T
    hidden *= hidden
    np.subtract(1.0, hidden, out=hidden)
    g_hidden *= hidden
    return [(pixels.T @ g_hidden, g_hidden.sum(axis=0)), (g_W, g_b)]


def network(batch: int, dtype: type, widths: tuple[int, int, int] = WIDTHS) -> Workload:
    """Return the workload for a batch."""
    before, hidden, after = widths

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        layers: list[Any] = [
            (rng.normal(size=(m, n)).astype(dtype) / np.sqrt(dtype(m)), np.zeros(n, dtype))
            for m, n in ((before, hidden), (hidden, after))
        ]
        pixels: Any = rng.uniform(size=(batch, before)).astype(dtype)
        return layers, pixels, np.eye(after, dtype=dtype)[rng.integers(0, after, batch)]

    return Workload(
        name=f"digits network, batch {batch}, {np.dtype(dtype).name}",
        arguments=arguments,
        function=cross_entropy,
        by_hand=gradient,
        in_jax=in_jax,
        in_torch=in_torch,
    )


WORKLOADS = tuple(network(n, dtype) for n in (256, 8192) for dtype in (np.float64, np.float32))
TINY = (network(5, np.float64, (4, 3, 2)), network(5, np.float32, (4, 3, 2)))
