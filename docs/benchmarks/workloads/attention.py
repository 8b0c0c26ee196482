"""One head of self-attention.

A. Vaswani et al., "Attention is all you need", arXiv:1706.03762, 2017, equation 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def loss(np_: Any, weights: Any, x: Any, target: Any) -> Any:
    """Return the squared error of the block for (batch, tokens, d) numbers."""
    q, k, v = (x @ weights[name] for name in ("query", "key", "value"))
    scores = q @ np_.swapaxes(k, 1, 2) / math.sqrt(x.shape[2])
    exponentials = np_.exp(scores - np_.max(scores, axis=2, keepdims=True))
    shares = exponentials / np_.sum(exponentials, axis=2, keepdims=True)
    return np_.mean((shares @ v @ weights["output"] - target) ** 2)


def in_jax(jax: Any, weights: Any, x: Any, target: Any) -> Any:
    """Return the same in JAX."""
    q, k, v = (x @ weights[name] for name in ("query", "key", "value"))
    shares = jax.nn.softmax(q @ jax.numpy.swapaxes(k, 1, 2) / math.sqrt(x.shape[2]))
    return jax.numpy.mean((shares @ v @ weights["output"] - target) ** 2)


def in_torch(torch: Any, weights: Any, x: Any, target: Any) -> Any:
    """Return the same in PyTorch."""
    q, k, v = (x @ weights[name] for name in ("query", "key", "value"))
    shares = torch.softmax(q @ k.mT / math.sqrt(x.shape[2]), dim=2)
    return torch.mean((shares @ v @ weights["output"] - target) ** 2)


def gradient(weights: Any, x: Any, target: Any) -> Any:
    """Return the gradient in the weights."""
    d, root = x.shape[2], x.dtype.type(math.sqrt(x.shape[2]))
    rows = x.reshape(-1, d)
    q, k, v = ((rows @ weights[name]).reshape(x.shape) for name in ("query", "key", "value"))
    q /= root
    shares = q @ k.transpose(0, 2, 1)
    shares -= shares.max(axis=2, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=2, keepdims=True)
    read = shares @ v
    read_rows = read.reshape(-1, d)
    g_out = read_rows @ weights["output"]
    g_out -= target.reshape(-1, d)
    g_out *= 2.0 / target.size
    g_read = (g_out @ weights["output"].T).reshape(x.shape)
    g_v = shares.transpose(0, 2, 1) @ g_read
    g_scores = g_read @ v.transpose(0, 2, 1)
    g_scores -= np.einsum("btd,btd->bt", g_read, read)[:, :, None]
    g_scores *= shares
    g_q, g_k = g_scores @ k, g_scores.transpose(0, 2, 1) @ q
    g_q /= root
    return {
        "query": rows.T @ g_q.reshape(-1, d),
        "key": rows.T @ g_k.reshape(-1, d),
        "value": rows.T @ g_v.reshape(-1, d),
        "output": read_rows.T @ g_out,
    }


def block(batch: int, tokens: int, d: int, dtype: type = np.float64) -> Workload:
    """Return the workload of a batch of sequences."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        weights = {
            name: (rng.normal(size=(d, d)) / np.sqrt(d)).astype(dtype)
            for name in ("query", "key", "value", "output")
        }
        x, target = rng.normal(size=(2, batch, tokens, d)).astype(dtype)
        return weights, x, target

    return Workload(
        name=f"attention, {batch} x {tokens} x {d}, {np.dtype(dtype).name}",
        arguments=arguments,
        function=loss,
        by_hand=gradient,
        in_jax=in_jax,
        in_torch=in_torch,
    )


WORKLOADS = (block(8, 128, 64), block(8, 128, 64, np.float32))
TINY = (block(2, 3, 4),)
