"""Functions that cannot be traced: `opaque`, which calls Python with concrete arrays.

A parameter holds the name under which the function was entered, never the function: names are
not given twice, so equal programs compute the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.builder import Tracer, bind, suspended
from funcdiff.core.primitive import Params, Primitive, Types
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError, OutputError, ProgramError
from funcdiff.space import Maybe, align

Run: TypeAlias = Callable[..., Sequence[Any]]
"""Of arrays, to the leaves of the result."""


class Entered(NamedTuple):
    """A function of arrays, and the same for operands that all have a batch axis in front."""

    run: Run
    batch: Callable[..., Sequence[Any]] | None


entered: Final[dict[str, Entered]] = {}
"""Opaque functions by name."""

_numbers = count(2)


def enter(name: str, run: Run, batch: Callable[..., Sequence[Any]] | None) -> str:
    """Enter a function; return its name, numbered if it is taken."""
    unique = name if name not in entered else f"{name}.{next(_numbers)}"
    entered[unique] = Entered(run, batch)
    return unique


@dataclass(frozen=True, slots=True)
class Opaque(Params):
    """An opaque function and the types of its results.

    Attributes
    ----------
    name
        Under which it was entered.
    results
        Of one example.
    batches
        One pair per batch axis, the outermost first: its length, and which operands have it.
    """

    name: str
    results: tuple[ArrayType, ...]
    batches: tuple[tuple[int, tuple[bool, ...]], ...]


def _abstract_opaque(p: Opaque, *_types: ArrayType) -> Types:
    sizes = tuple(size for size, _ in p.batches)
    return tuple(t.with_shape((*sizes, *t.shape)) for t in p.results)


def _opaque_impl(p: Opaque) -> Callable[..., Any]:
    def run(*xs: Any) -> Any:
        if p.name not in entered:
            raise ProgramError(
                f"a program calls the opaque function {p.name!r}, which is not declared in this "
                "process. Import the module that declares it with fd.primitive."
            )
        results = _run(p, entered[p.name], xs, p.batches)
        return results[0] if len(results) == 1 else tuple(results)

    return run


def _run(p: Opaque, function: Entered, xs: Sequence[Any], batches: Sequence[Any]) -> list[Any]:
    if not batches:
        with suspended():
            found = function.run(*map(lent, xs))
        return _checked(p, found, ())
    (size, flags), *inner = batches
    if function.batch is not None and not inner:
        wide = [
            x if flag else np.broadcast_to(x, (size, *np.shape(x)))
            for x, flag in zip(xs, flags, strict=True)
        ]
        with suspended():
            found = function.batch(size, *map(lent, wide))
        return _checked(p, found, (size,))
    rows = [
        _run(p, function, [x[k] if flag else x for x, flag in zip(xs, flags, strict=True)], inner)
        for k in range(size)
    ]
    sizes = tuple(n for n, _ in inner)
    return [
        np.stack([row[k] for row in rows]) if rows else np.empty((0, *sizes, *t.shape), t.dtype)
        for k, t in enumerate(p.results)
    ]


def lent(x: Any) -> Any:
    """Return a copy, which the function may keep or change: what it was made of is used again."""
    return x.copy() if isinstance(x, np.ndarray) else x


def _checked(p: Opaque, results: Sequence[Any], sizes: tuple[int, ...]) -> list[Any]:
    """Return copies of the results: the function may keep or return memory of somebody else."""
    wanted = [t.with_shape((*sizes, *t.shape)) for t in p.results]
    found = [np.array(y) for y in results]
    types = [ArrayType(y.shape, y.dtype) for y in found]
    if types != wanted:
        raise OutputError(
            f"{p.name} returned {', '.join(map(str, types))} where it had returned, or declared, "
            f"{', '.join(map(str, wanted))} for arguments of these types. An opaque function must "
            "return the same shapes and dtypes for the same shapes and dtypes."
        )
    return [y if y.shape else y[()] for y in found]


def _opaque_jvp(
    p: Opaque, _xs: Sequence[Tracer], _ts: Sequence[Maybe]
) -> tuple[Sequence[Tracer], Sequence[Maybe]]:
    raise NotDifferentiableError(
        f"{p.name} is opaque and has no derivative rule. Declare one with "
        f"{p.name}.defvjp(forward, backward) or {p.name}.defjvp(rule)."
    )


def _opaque_batch(
    p: Opaque, size: int, xs: Sequence[Tracer], batched: Sequence[bool]
) -> Sequence[Tracer]:
    if not p.batches and entered[p.name].batch is not None:
        xs, batched = align(size, xs, batched), (True,) * len(xs)
    return opaque(Opaque(p.name, p.results, ((size, tuple(batched)), *p.batches)), xs)


opaque_p: Final = Primitive(
    "opaque", Opaque, _abstract_opaque, _opaque_impl, _opaque_jvp, None, _opaque_batch
)


def opaque(p: Opaque, xs: Sequence[Tracer]) -> Sequence[Tracer]:
    """Call the opaque function."""
    return bind(opaque_p, p, *xs)
