"""All ways to derivatives of products agree, with labels in any order, and of matrix functions.

Lengths are equal as often as not: then nothing but the numbers tells that axes were exchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funcdiff.testing import check_grads
from tests.properties.every_way import assert_every_way_agrees, of_parts

Array: TypeAlias = Any
Function: TypeAlias = Callable[[Array], Array]


WHOLE: Final = settings().max_examples > 10
"""Whether second derivatives and differences are asked for, too: with the slow tests."""


def numbers(rng: Random, shape: tuple[int, ...], *, complex_: bool = False) -> Array:
    x = np.random.default_rng(rng.randrange(1 << 30)).uniform(0.3, 1.7, (2, *shape))
    return x[0] + 1j * x[1] if complex_ else x[0]


def changed(rng: Random, shape: tuple[int, ...]) -> Function:
    """Draw what is done to an array of a shape, which it keeps."""
    s, axis = numbers(rng, shape), rng.randrange(max(1, len(shape)))
    order = list(range(len(shape)))
    if shape:
        other = rng.choice([k for k, n in enumerate(shape) if n == shape[axis]])
        order[axis], order[other] = other, axis
    ways: tuple[Function, ...] = (
        lambda y: y,
        lambda y: s * y,
        lambda y: y * y,
        lambda y: np.sin(y) * s,
        lambda y: np.transpose(y, order),
        lambda y: np.transpose(y * s, order),
        lambda y: np.flip(y, axis) * s if shape else y,
        lambda y: np.roll(y, 1, axis) * s if shape else y,
        lambda y: np.roll(y, 1),
        lambda y: s * y + np.sum(y),
    )
    return rng.choice(ways)


def products(rng: Random) -> tuple[Function, Array]:
    """Draw a product of what an array becomes, or two of them, one after the other."""
    equal = rng.choice([1, 2, 2, 3])
    lengths = [equal] * 4 if rng.random() < 0.6 else [rng.randrange(4) for _ in range(4)]
    shape = tuple(lengths[: rng.randrange(4)])
    x = numbers(rng, shape, complex_=rng.random() < 0.15)
    first, result = product(rng, shape, lengths)
    if rng.random() < 0.6:
        return first, x
    second, _ = product(rng, result, lengths)
    return lambda x: second(first(x)), x


def product(
    rng: Random, shape: tuple[int, ...], lengths: list[int]
) -> tuple[Function, tuple[int, ...]]:
    """Draw a product of an array of a shape with another one, or with itself, and its shape."""
    left = rng.sample("ijkl", len(shape))
    others = [label for label in "ijkl" if label not in left]
    sizes = {**dict(zip("ijkl", lengths, strict=True)), **dict(zip(left, shape, strict=True))}
    some = rng.sample(left, len(left)) if rng.random() < 0.5 else rng.sample(left, len(left) // 2)
    right = [*some, *rng.sample(others, rng.randint(0, min(len(others), 3 - len(some))))]
    rng.shuffle(right)
    every = sorted({*left, *right})
    summed = [*left] if rng.random() < 0.5 else []
    out = [label for label in rng.sample(every, rng.randint(0, len(every))) if label not in summed]
    other, result = (tuple(sizes[label] for label in side) for side in (right, out[:3]))
    before, again, after = changed(rng, shape), changed(rng, shape), changed(rng, result)
    matrix = numbers(rng, other, complex_=rng.random() < 0.15)
    itself, swapped = other == shape and rng.random() < 0.3, rng.random() < 0.5
    terms = [*map("".join, (right, left) if swapped else (left, right))]
    subscripts = f"{','.join(terms)}->{''.join(out[:3])}"

    def f(x: Array) -> Array:
        factors = before(x), again(x) if itself else matrix
        return after(np.einsum(subscripts, *(factors[::-1] if swapped else factors)))

    return f, result


_BY_NAME: Final[dict[str, tuple[Callable[[Array, Array], Array], int, int]]] = {
    "matmul": (np.matmul, 2, 2),
    "matmul of stacks": (lambda x, y: np.matmul(x, y), 3, 2),
    "matmul and a vector": (np.matmul, 2, 1),
    "dot": (lambda x, y: np.dot(x, y), 3, 2),
    "vecdot": (lambda x, y: np.vecdot(x.T, y), 2, 2),
    "matvec": (lambda x, y: np.matvec(x, y), 3, 2),
    "vecmat": (lambda x, y: np.vecmat(x, y), 1, 2),
    "inner": (lambda x, y: np.inner(x, y), 2, 3),
    "outer": (lambda x, y: np.outer(x, y), 2, 1),
    "kron": (lambda x, y: np.kron(x, y), 2, 2),
    "tensordot over one": (lambda x, y: np.tensordot(x, y, axes=([0], [1])), 2, 2),
    "tensordot over two": (lambda x, y: np.tensordot(x, y, axes=([0, 1], [1, 0])), 2, 2),
    "tensordot over many": (lambda x, y: np.tensordot(x, y, axes=([2, 0], [0, 1])), 3, 3),
    "cross": (lambda x, y: np.cross(x, y, axis=0), 2, 2),
    "multi_dot": (lambda x, y: np.linalg.multi_dot([x, y, x]), 2, 2),
    "convolve": (lambda x, y: np.convolve(x, y), 1, 1),
    "correlate": (lambda x, y: np.correlate(x, y, "same"), 1, 1),
}
"""Products of arrays whose axes all have one length, with how many axes they have."""


def named_products(rng: Random) -> tuple[Function, Array]:
    """Draw a product by NumPy's name for it, of cubes."""
    name = rng.choice(sorted(_BY_NAME))
    multiply, ndim, other = _BY_NAME[name]
    n, swapped = 3 if name == "cross" else rng.randint(1, 3), rng.random() < 0.5
    shapes = [(n,) * ndim, (n,) * other]
    shape, constant = shapes[::-1] if swapped else shapes
    before, again, matrix = changed(rng, shape), changed(rng, shape), numbers(rng, constant)
    itself = ndim == other and rng.random() < 0.3

    def f(x: Array) -> Array:
        factors = before(x), again(x) if itself else matrix
        return multiply(*(factors[::-1] if swapped else factors))

    return f, numbers(rng, shape)


def _symmetric(a: Array) -> Array:
    return a + np.swapaxes(a, -1, -2)


NORMS: Final = ("None", "'fro'", "'nuc'", "np.inf", "-np.inf", "1", "-1", "2", "-2")
FUNCTIONS: Final[dict[str, Function]] = {
    "det": np.linalg.det,
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "svdvals": np.linalg.svdvals,
    "svd": lambda a: np.abs(np.linalg.svd(a)[0]),
    "inv": np.linalg.inv,
    "pinv": np.linalg.pinv,
    "solve": lambda a: np.linalg.solve(a, np.arange(1.0, a.shape[-1] + 1)),
    "solve, on the right": lambda a: np.linalg.solve(np.eye(len(a)) * 2.0, a),
    "solve, itself": lambda a: np.linalg.solve(a, a.T @ a),
    "lstsq": lambda a: np.linalg.lstsq(a, np.arange(1.0, a.shape[-1] + 1))[0],
    "eigvalsh": lambda a: np.linalg.eigvalsh(_symmetric(a)),
    "eigh": lambda a: np.abs(np.linalg.eigh(_symmetric(a))[1]),
    "eigvals": lambda a: np.sum(np.abs(np.linalg.eigvals(_symmetric(a)))),
    "cholesky": lambda a: np.linalg.cholesky(a @ a.T),
    "qr": lambda a: np.abs(np.linalg.qr(a)[1]),
    "matrix_power": lambda a: np.linalg.matrix_power(a, 3),
    "inverse power": lambda a: np.linalg.matrix_power(a, -2),
    "trace": lambda a: np.linalg.trace(a @ a.T),
    "cond": np.linalg.cond,
    "tensorinv": lambda a: np.linalg.tensorinv(a, ind=1),
    **{
        f"norm, {order}": eval(f"lambda a: np.linalg.norm(a, {order})", {"np": np})
        for order in NORMS
    },
}


def functions_of_matrices(rng: Random) -> tuple[Function, Array]:
    """Draw a function of a matrix that an array becomes, whose singular values are apart."""
    n, size = rng.randint(1, 3), rng.choice([1.0, 0.2])
    before, function = changed(rng, (n, n)), FUNCTIONS[rng.choice(sorted(FUNCTIONS))]

    def f(x: Array) -> Array:
        return function(size * before(x) / n + np.diag(1.5 * np.arange(1.0, n + 1)))

    return f, numbers(rng, (n, n))


DRAWN: Final = {
    "products": products,
    "named products": named_products,
    "functions of matrices": functions_of_matrices,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DRAWN)
@given(st.integers(0, 1 << 30))
def test_all_ways_to_the_derivatives_agree(kind: str, seed: int) -> None:
    f, x = DRAWN[kind](Random(seed))
    if WHOLE:
        check_grads(lambda x: [f(x)], (x,), order=2)
    assert_every_way_agrees(*of_parts(lambda x: [f(x)], [x]), order=2 if WHOLE else 1)


S, M = np.random.default_rng(0).uniform(0.3, 1.7, (2, 3, 3))
STACK: Final = np.random.default_rng(1).uniform(0.3, 1.7, (3, 3, 3))
EXCHANGED: dict[str, Function] = {
    "einsum": lambda x: np.einsum("ij,ji->", S * x, M),
    "einsum of a stack": lambda x: np.einsum("ij,jik->k", S * x, STACK),
    "tensordot": lambda x: np.tensordot(S * x, M, axes=([0, 1], [1, 0])),
    "det": lambda x: np.linalg.det(x * x + 2.0 * np.eye(3)),
    "slogdet": lambda x: np.sin(np.linalg.slogdet(x * x + 2.0 * np.eye(3))[1]),
    "nuclear norm": lambda x: np.linalg.norm(S * x, "nuc"),
    "singular values": lambda x: np.sum(np.linalg.svdvals(S * x)),
}
"""Functions in which a square matrix meets its transpose."""


@pytest.mark.slow
@pytest.mark.parametrize("name", EXCHANGED)
def test_equal_lengths_do_not_hide_exchanged_axes(name: str) -> None:
    f = EXCHANGED[name]
    x = M + np.diag([1.0, 2.0, 3.0])
    check_grads(lambda x: [f(x)], (x,), order=2)
    assert_every_way_agrees(lambda x: [f(x)], [x], order=2)
