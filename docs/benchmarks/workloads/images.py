"""A convolutional network for 28 x 28 images: two convolutions with pooling, and a linear layer.

The one by hand copies the windows to a matrix, as in K. Chellapilla, S. Puri, P. Simard, "High
performance convolutional neural networks for document processing", 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import funcdiff as fd
from docs.benchmarks.workloads.workload import Workload


def cross_entropy(np_: Any, layers: Any, images: Any, targets: Any) -> Any:
    """Return the mean cross-entropy of (batch, 1, height, width) images and one-hot targets."""
    (F, a), (G, b), (W, c) = layers
    x = fd.nn.max_pool(np_.maximum(fd.nn.conv(images, F) + a[:, None, None], 0.0), 2)
    x = fd.nn.max_pool(np_.maximum(fd.nn.conv(x, G) + b[:, None, None], 0.0), 2)
    scores = x.reshape(len(x), -1) @ W + c
    return -np_.mean(np_.sum(targets * fd.nn.log_softmax(scores, axis=1), axis=1))


def in_autograd(autograd: Any, layers: Any, images: Any, targets: Any) -> Any:
    """Return the same in autograd, whose convolution turns the kernel around."""
    anp = autograd.numpy
    (F, a), (G, b), (W, c) = layers

    def layer(x: Any, kernel: Any, bias: Any) -> Any:
        y = autograd.scipy.signal.convolve(
            x, kernel[:, :, ::-1, ::-1], axes=([2, 3], [2, 3]), dot_axes=([1], [1]), mode="valid"
        )
        y = anp.maximum(y + bias[:, None, None], 0.0)
        n, o, height, width = y.shape
        blocks = anp.reshape(y, (n, o, height // 2, 2, width // 2, 2))
        return anp.max(anp.max(blocks, axis=5), axis=3)

    x = layer(layer(images, F, a), G, b)
    scores = anp.reshape(x, (len(x), -1)) @ W + c
    scores = scores - anp.max(scores, axis=1, keepdims=True)
    scores = scores - anp.log(anp.sum(anp.exp(scores), axis=1, keepdims=True))
    return -anp.mean(anp.sum(targets * scores, axis=1))


def in_jax(jax: Any, layers: Any, images: Any, targets: Any) -> Any:
    """Return the same in JAX."""
    (F, a), (G, b), (W, c) = layers

    def layer(x: Any, kernel: Any, bias: Any) -> Any:
        y = jax.nn.relu(jax.lax.conv(x, kernel, (1, 1), "VALID") + bias[:, None, None])
        n, o, height, width = y.shape
        return y.reshape(n, o, height // 2, 2, width // 2, 2).max((3, 5))

    x = layer(layer(images, F, a), G, b)
    scores = jax.nn.log_softmax(x.reshape(len(x), -1) @ W + c)
    return -jax.numpy.mean(jax.numpy.sum(targets * scores, axis=1))


def in_torch(torch: Any, layers: Any, images: Any, targets: Any) -> Any:
    """Return the same in PyTorch."""
    (F, a), (G, b), (W, c) = layers
    nn = torch.nn.functional
    x = nn.max_pool2d(torch.relu(nn.conv2d(images, F, a)), 2)
    x = nn.max_pool2d(torch.relu(nn.conv2d(x, G, b)), 2)
    scores = torch.log_softmax(x.flatten(1) @ W + c, dim=1)
    return -torch.mean(torch.sum(targets * scores, dim=1))


def convolution(x: Any, kernel: Any, bias: Any) -> tuple[Any, Any]:
    """Return a convolution with channels last, and the matrix of windows that it was made of."""
    n, height, width, channels = x.shape
    out, _, k, m = kernel.shape
    windows = sliding_window_view(x, (k, m), axis=(1, 2))  # (n, height, width, channels, k, m)
    columns = windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, k * m * channels)
    y = columns @ kernel.transpose(2, 3, 1, 0).reshape(-1, out)
    y += bias
    return y.reshape(n, height - k + 1, width - m + 1, out), columns


def kernel_gradient(g: Any, columns: Any, kernel: Any) -> tuple[Any, Any]:
    """Return the gradients in kernel and bias for that of the convolution."""
    out, channels, k, m = kernel.shape
    rows = g.reshape(-1, out)
    return (rows.T @ columns).reshape(out, k, m, channels).transpose(0, 3, 1, 2), rows.sum(axis=0)


def image_gradient(g: Any, kernel: Any, shape: tuple[int, ...]) -> Any:
    """Return the gradient in the image of a convolution for that of the convolution."""
    out, channels, k, m = kernel.shape
    n, height, width, _ = g.shape
    columns = g.reshape(-1, out) @ kernel.transpose(0, 2, 3, 1).reshape(out, -1)
    windows = columns.reshape(n, height, width, k, m, channels)
    g_image = np.zeros(shape, g.dtype)
    for i in range(k):
        for j in range(m):
            g_image[:, i : i + height, j : j + width] += windows[:, :, :, i, j]
    return g_image


CORNERS = tuple((i, j) for i in range(2) for j in range(2))


def pooled(y: Any) -> Any:
    """Return the largest entry of each block of 2 x 2, and at least zero."""
    largest = np.maximum(y[:, 0::2, 0::2], 0.0)
    for i, j in CORNERS[1:]:
        np.maximum(largest, y[:, i::2, j::2], out=largest)
    return largest


def pooling_gradient(g: Any, y: Any, largest: Any) -> Any:
    """Return the gradient in `y` for that of `pooled`; positive entries have no ties."""
    g *= largest > 0.0
    g_y = np.empty_like(y)
    for i, j in CORNERS:
        np.multiply(g, y[:, i::2, j::2] == largest, out=g_y[:, i::2, j::2])
    return g_y


def gradient(layers: Any, images: Any, targets: Any) -> Any:
    """Return the gradient in the layers."""
    (F, a), (G, b), (W, c) = layers
    y, image_columns = convolution(images.transpose(0, 2, 3, 1), F, a)
    p = pooled(y)
    z, pool_columns = convolution(p, G, b)
    q = pooled(z)
    rows = q.transpose(0, 3, 1, 2).reshape(len(q), -1)
    shares = rows @ W
    shares += c
    shares -= shares.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    shares -= targets
    shares /= len(images)
    n, height, width, out = q.shape
    g_q = (shares @ W.T).reshape(n, out, height, width).transpose(0, 2, 3, 1)
    g_z = pooling_gradient(np.ascontiguousarray(g_q), z, q)
    g_y = pooling_gradient(image_gradient(g_z, G, p.shape), y, p)
    return [
        kernel_gradient(g_y, image_columns, F),
        kernel_gradient(g_z, pool_columns, G),
        (rows.T @ shares, shares.sum(axis=0)),
    ]


def network(batch: int, side: int, dtype: type, first: int = 8, second: int = 16) -> Workload:
    """Return the workload of a batch of square images, with kernels of 5 x 5."""
    after = ((side - 4) // 2 - 4) // 2

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        def normal(*shape: int) -> Any:
            fan_in = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
            return (rng.normal(size=shape) / np.sqrt(fan_in)).astype(dtype)

        layers: list[Any] = [
            (normal(first, 1, 5, 5), np.zeros(first, dtype)),
            (normal(second, first, 5, 5), np.zeros(second, dtype)),
            (normal(second * after**2, 10), np.zeros(10, dtype)),
        ]
        images: Any = rng.normal(size=(batch, 1, side, side)).astype(dtype)
        return layers, images, np.eye(10, dtype=dtype)[rng.integers(0, 10, batch)]

    return Workload(
        name=f"convolutional network, batch {batch}, {np.dtype(dtype).name}",
        arguments=arguments,
        function=cross_entropy,
        by_hand=gradient,
        in_autograd=in_autograd,
        in_jax=in_jax,
        in_torch=in_torch,
    )


WORKLOADS = (network(64, 28, np.float64), network(64, 28, np.float32))
TINY = (network(2, 16, np.float64, 2, 3),)
