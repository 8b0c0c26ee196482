"""All ways to one derivative: dense and sparse, by columns and by rows, first and later calls.

The ways share less than it seems: a push along one vector runs rules on values, a matrix in one
pass follows elements, a sparse one their patterns, and each changes its form when it comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

import numpy as np

import funcdiff as fd
from funcdiff.errors import ConcreteValueError
from funcdiff.testing.subject import disagreement, rounding
from tests.patterns.pattern import weights

Function: TypeAlias = Callable[..., list[Any]]
"""Of real arrays, returning a list of real arrays."""

MODES: Final = ("forward", "reverse")
CALLS: Final = 9
"""Eager calls, of which the last ones are compiled."""
JITTED: Final = ("forward", "reverse", "sparse", "hessian", "reverse over reverse")
"""Ways that are jitted too."""


def assert_every_way_agrees(f: Function, xs: Sequence[Any], *, order: int = 1) -> None:
    """Require that all ways to the Jacobian, and to the Hessian of a sum, give the same."""
    if not xs:
        return
    places = tuple(range(len(xs)))
    fd.clear_caches()  # the first call of each goes by a tape, whatever was called before
    with np.errstate(all="ignore"):
        ys, pull = fd.vjp(f, *xs)
        if not ys:
            return
        widths, heights = ([np.size(z) for z in zs] for zs in (xs, ys))
        expected = by_columns(f, xs, sum(heights))
        rows = [_flat(pull(list(cts))) for cts in _units(ys)]
        _compare("rows by vjp", np.reshape(rows, expected.shape), expected, xs)
        for name, derive in _jacobians(f, places).items():
            _compare_calls(name, derive, xs, heights, expected)
        if order > 1:
            total = _weighted(f, weights(ys))
            gradient = fd.grad(total, places)
            expected = by_columns(lambda *xs: list(gradient(*xs)), xs, sum(widths))
            for name, derive in _hessians(total, places).items():
                _compare_calls(name, derive, xs, widths, expected)


def of_parts(f: Callable[..., Sequence[Any]], xs: Sequence[Any]) -> tuple[Function, list[Any]]:
    """Return a function as one of real and imaginary parts of its arguments, to parts, and these.

    Results of other dtypes are left out.
    """
    flags = [np.iscomplexobj(x) for x in xs]
    parts = [part for x in xs for part in _parts(np.copy(x)[()])]

    def function(*parts: Any) -> list[Any]:
        rest = iter(parts)
        ys = f(*(next(rest) + 1j * next(rest) if flag else next(rest) for flag in flags))
        return [part for y in ys if y.dtype.kind in "fc" for part in _parts(y)]

    return function, parts


def _parts(x: Any) -> list[Any]:
    return [np.real(x), np.imag(x)] if x.dtype.kind == "c" else [x]


def by_columns(f: Function, xs: Sequence[Any], height: int) -> Any:
    """Return the Jacobian as one matrix, a column for each unit vector that is pushed."""
    columns = [_flat(fd.jvp(f, tuple(xs), ts)[1]) for ts in _units(xs)]
    return np.reshape(columns, (len(columns), height)).T


def _units(xs: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return all unit vectors of a space of arrays."""
    found = []
    for k, x in enumerate(xs):
        for place in range(np.size(x)):
            unit = [np.zeros(np.shape(z), z.dtype) for z in xs]
            unit[k].reshape(-1)[place] = 1
            found.append(tuple(t[()] for t in unit))
    return found


def _flat(leaves: Sequence[Any]) -> Any:
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


# ---- matrices in one pass ------------------------------------------------------------------------


def _jacobians(f: Function, places: tuple[int, ...]) -> dict[str, Callable[..., Any]]:
    return {
        "forward": fd.jacobian(f, places, mode="forward"),
        "reverse": fd.jacobian(f, places, mode="reverse"),
        "in chunks": fd.jacobian(f, places, chunk_size=2),
        "sparse": fd.jacobian(f, places, sparse=True, format="coo"),
    }


def _hessians(total: Callable[..., Any], places: tuple[int, ...]) -> dict[str, Callable[..., Any]]:
    nested: dict[str, Callable[..., Any]] = {
        f"{outer} over {inner}": fd.jacobian(
            fd.jacobian(total, places, mode=inner), places, mode=outer
        )
        for outer in MODES
        for inner in MODES
    }
    return {
        **nested,
        "hessian": fd.hessian(total, places),
        "sparse hessian": fd.hessian(total, places, sparse=True, format="coo"),
    }


# ---- products of Hessians and vectors ------------------------------------------------------------


def assert_products_agree(f: Function, xs: Sequence[Any]) -> None:
    """Require that all ways to the product of the Hessian of a sum and a vector give the same.

    The arguments and results may be complex: a gradient of theirs is a direction of ascent.
    """
    with np.errstate(all="ignore"):
        ys = [y for y in map(np.asarray, f(*xs)) if y.dtype.kind in "fc"]
        if not (xs and ys):
            return
        ts = tuple([(np.cos(k + np.asarray(x).real) + 0 * x)[()] for k, x in enumerate(xs)])
        expected = None
        for name, derive in _products(_weighted(f, weights(ys)), ts).items():
            fd.clear_caches()
            for k in range(1, CALLS + 1):
                found = [np.asarray(g) for g in derive(*xs)]
                expected = expected or found
                for g, e, x in zip(found, expected, xs, strict=True):
                    assert g.dtype == np.asarray(x).dtype
                    _compare(f"{name}, call {k}", g, e, [*xs, *expected])


def _products(total: Callable[..., Any], ts: tuple[Any, ...]) -> dict[str, Callable[..., Any]]:
    places = tuple(range(len(ts)))
    gradient, with_value = fd.grad(total, places), fd.value_and_grad(total, places)

    def along(gs: Sequence[Any]) -> Any:
        return sum(np.sum(np.real(g * np.conj(t))) for g, t in zip(gs, ts, strict=True))

    def many(*xs: Any) -> list[Any]:
        products = fd.vmap(lambda *us: fd.jvp(gradient, xs, us)[1])
        return [g[1] for g in products(*[np.stack([x, t]) for x, t in zip(xs, ts, strict=True)])]

    def at_many(*xs: Any) -> list[Any]:
        products = fd.vmap(lambda *ys: fd.jvp(gradient, ys, ts)[1])
        return [g[1] for g in products(*[np.stack([x, x]) for x in xs])]

    ways: dict[str, Callable[..., Any]] = {
        "forward over reverse": lambda *xs: fd.jvp(gradient, xs, ts)[1],
        "reverse over forward": fd.grad(lambda *xs: np.real(fd.jvp(total, xs, ts)[1]), places),
        "reverse over reverse": fd.grad(lambda *xs: along(gradient(*xs)), places),
        "reverse over value": fd.grad(lambda *xs: along(with_value(*xs)[1]), places),
        "linearized": lambda *xs: fd.linearize(gradient, *xs)[1](*ts),
        "pulled back": lambda *xs: fd.vjp(gradient, *xs)[1](ts),
        "many vectors": many,
        "many points": at_many,
    }
    return {**ways, **{f"{way}, jit": fd.jit(ways[way]) for way in list(ways)[:3]}}


def _weighted(f: Function, cotangents: Sequence[Any]) -> Callable[..., Any]:
    return lambda *xs: sum(
        np.sum(np.real(w * y))
        for w, y in zip(cotangents, (y for y in f(*xs) if y.dtype.kind in "fc"), strict=True)
    )


def _compare_calls(
    way: str, derive: Callable[..., Any], xs: Sequence[Any], heights: Sequence[int], expected: Any
) -> None:
    widths = [np.size(x) for x in xs]
    for k in range(1, CALLS + 1):
        found = derive(*xs)
        if k in (1, 2, CALLS):
            _compare(f"{way}, call {k}", _matrix(found, heights, widths), expected, xs)
    if way in JITTED:
        with suppress(ConcreteValueError):  # where shapes depend on values, which is said in words
            found = fd.jit(derive)(*xs)
        _compare(f"{way}, jit", _matrix(found, heights, widths), expected, xs)


def _matrix(blocks: Any, heights: Sequence[int], widths: Sequence[int]) -> Any:
    """Return blocks, dense ones or the entries of sparse ones, as one matrix."""
    whole = [
        np.concatenate([_block(b, m, n) for b, n in zip(row, widths, strict=True)], axis=1)
        for row, m in zip(blocks, heights, strict=True)
    ]
    return np.concatenate(whole)


def _block(block: Any, height: int, width: int) -> Any:
    if not isinstance(block, tuple):
        return np.reshape(block, (height, width))
    data, (rows, columns) = block
    found = np.zeros((height, width), data.dtype)
    found[rows, columns] = data
    return found


def _compare(way: str, found: Any, expected: Any, xs: Sequence[Any]) -> None:
    wrong = disagreement(found, expected, rounding([*xs, expected]))
    assert wrong is None, f"{way}: {wrong}\n{found}\n{expected}"
