"""Bundle adjustment: the sparse Jacobian of errors in pixels and of weights.

The residual of a pixel is that of the benchmark `observations` and is taken from there.  The result
are the entries of the Jacobian row by row: of each pixel 2 x 15, then of each weight one.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

import funcdiff as fd
from docs.benchmarks.workloads.observations import jacobians, residual
from docs.benchmarks.workloads.workload import Workload

ALL: Final = slice(None)
"""The entries of a pixel, as they are published."""
BUT_ZEROS: Final = np.delete(np.arange(30), (8, 15 + 7))
"""The same without two that are zero everywhere: a coordinate of the principal point moves one."""


def errors(np_: Any, sizes: tuple[int, int], x: Any, seen: Any, pixels: Any) -> Any:
    """Return the errors in (p, 2) pixels and of p weights, in a row.

    The parameters are 11 numbers of each of n cameras, 3 of each of m points, and p weights, in a
    row; `seen` has a camera and a point for each pixel.
    """
    rows = gathered(np_, sizes, x, seen)
    off = residual(np_, np_.cross, rows, pixels)
    return np_.concatenate((off.reshape(-1), 1.0 - rows[:, 14] ** 2))


def found(sizes: tuple[int, int], np_: Any, x: Any, seen: Any, pixels: Any) -> Any:
    """Return the entries of the sparse Jacobian, whose places funcdiff finds."""
    f = partial(errors, np_, sizes)
    data, _ = fd.jacobian(lambda x: f(x, seen, pixels), sparse=True, format="coo")(x)
    return data


def gathered(np_: Any, sizes: tuple[int, int], x: Any, seen: Any) -> Any:
    """Return (p, 15) parameters: those of the camera, the point and the weight of each pixel."""
    n, m = sizes
    cameras, points = x[: 11 * n].reshape(n, 11), x[11 * n : 11 * n + 3 * m].reshape(m, 3)
    return np_.concatenate((cameras[seen[0]], points[seen[1]], x[11 * n + 3 * m :, None]), 1)


def entries(np_: Any, jacobians: Any, rows: Any, kept: Any) -> Any:
    """Return entries of the sparse matrix from (p, 2, 15) of the pixels."""
    of_pixels = jacobians.reshape(len(rows), 30)[:, kept]
    return np_.concatenate((of_pixels.reshape(-1), -2.0 * rows[:, 14]))


def each(sizes: tuple[int, int], np_: Any, x: Any, seen: Any, pixels: Any) -> Any:
    """Return the same, with the zeros, by the Jacobian of each pixel, whose places are known."""
    rows = gathered(np_, sizes, x, seen)
    of_rows = fd.vmap(fd.jacrev(partial(residual, np_, np_.cross)))
    return entries(np_, of_rows(rows, pixels), rows, ALL)


def in_autograd(
    sizes: tuple[int, int], kept: Any, autograd: Any, x: Any, seen: Any, pixels: Any
) -> Any:
    """Return the same in autograd: one coordinate of all pixels at a time."""
    np_ = autograd.numpy
    rows = gathered(np_, sizes, x, seen)
    pull, y = autograd.make_vjp(lambda rows: residual(np_, np_.cross, rows, pixels))(rows)
    images = [pull(np.broadcast_to(e, y.shape)) for e in np.eye(2)]
    return entries(np, np.stack(images, axis=1), rows, kept)


def in_jax(sizes: tuple[int, int], kept: Any, jax: Any, x: Any, seen: Any, pixels: Any) -> Any:
    """Return the same in JAX."""
    np_ = jax.numpy
    rows = gathered(np_, sizes, x, seen)
    of_rows = jax.vmap(jax.jacrev(partial(residual, np_, np_.cross)))
    return entries(np_, of_rows(rows, pixels), rows, kept)


def in_torch(sizes: tuple[int, int], kept: Any, torch: Any, x: Any, seen: Any, pixels: Any) -> Any:
    """Return the same in PyTorch."""
    rows = gathered(torch, sizes, x, seen)
    of_rows = torch.vmap(torch.func.jacrev(partial(residual, torch, torch.linalg.cross)))
    return entries(torch, of_rows(rows, pixels), rows, kept)


def reference(sizes: tuple[int, int], kept: Any, x: Any, seen: Any, pixels: Any) -> Any:
    """Return the same by the derivative written by hand."""
    rows = gathered(np, sizes, x, seen)
    return entries(np, jacobians(rows, pixels), rows, kept)


def adjustment(n: int, m: int, p: int, *, sparse: bool) -> Workload:
    """Return the workload of n cameras that see m points in p pixels."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        cameras = rng.normal(size=(n, 11))
        cameras[:, 5] -= 10.0  # the centre is behind the points
        cameras[:, 0:3] *= 0.2
        cameras[:, 9:11] *= 0.1
        x = np.concatenate((cameras.ravel(), rng.normal(size=3 * m), rng.uniform(0.5, 1.0, p)))
        return x, np.stack((np.arange(p) % n, np.arange(p) % m)), rng.normal(size=(p, 2))

    sizes, kept = (n, m), BUT_ZEROS if sparse else ALL
    return Workload(
        name=f"ba{', places found' if sparse else ''}, {p} pixels",
        derivative="value",
        arguments=arguments,
        function=partial(found if sparse else each, sizes),
        by_hand=partial(reference, sizes, kept),
        in_autograd=partial(in_autograd, sizes, kept),
        in_jax=partial(in_jax, sizes, kept),
        in_torch=partial(in_torch, sizes, kept),
    )


WORKLOADS = tuple(adjustment(49, 776, 3184, sparse=sparse) for sparse in (False, True))
TINY = tuple(adjustment(2, 3, 5, sparse=sparse) for sparse in (False, True))
