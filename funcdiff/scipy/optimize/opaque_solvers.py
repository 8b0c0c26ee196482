"""Solvers of SciPy's as opaque calls: they run with concrete arrays, and have no derivative."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from inspect import signature
from typing import Any, Final, TypeVar, cast

import numpy as np

from funcdiff import pytree
from funcdiff.api.inspection import stop_gradient
from funcdiff.api.rules.opaque_functions import primitive
from funcdiff.core.program import Program
from funcdiff.core.types import INT
from funcdiff.errors import ConcreteValueError, PytreeError
from funcdiff.numpy.border.values import value_of
from funcdiff.pytree.statics import static_key
from funcdiff.scipy.covered import load
from funcdiff.scipy.optimize.closed import Closed

F = TypeVar("F", bound=Callable[..., Any])
Solve = Callable[[Sequence[Closed], Sequence[Any], Mapping[str, Any]], Sequence[Any]]
"""``solve(functions, arrays, settings) -> arrays``, all concrete."""

Shapes = Sequence[tuple[tuple[int, ...], Any]]
"""Shape and dtype of each result."""


class _Task:
    """What a solver is told beside arrays; equal ones compute the same."""

    def __init__(
        self, solve: Solve, programs: Sequence[Program], settings: Mapping[str, Any], shapes: Shapes
    ) -> None:
        self.solve, self.programs, self.settings = solve, tuple(programs), dict(settings)
        self.shapes = tuple((shape, np.dtype(dtype)) for shape, dtype in shapes)
        self._key = (solve, self.programs, _frozen(self.settings), self.shapes)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Task) and self._key == other._key


class _Alone:
    """Equal to nothing else."""


def _frozen(value: Any) -> Hashable:
    """Return what tells settings apart, which may be containers and objects of any kind."""
    if isinstance(value, Mapping):
        return type(value), tuple((k, _frozen(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_frozen, value))
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return value.shape, value.dtype, value.tobytes()
    try:
        return static_key(value)
    except TypeError:
        return _Alone()


def _solver(task: _Task, captures: Sequence[Sequence[Any]], arrays: Sequence[Any]) -> list[Any]:
    functions = [Closed(p, given) for p, given in zip(task.programs, captures, strict=True)]
    results = task.solve(functions, arrays, task.settings)
    return [
        np.array(y, dtype).reshape(shape)
        for y, (shape, dtype) in zip(results, task.shapes, strict=True)
    ]


def _like_results(
    task: _Task, captures: Sequence[Sequence[Any]], arrays: Sequence[Any]
) -> list[Any]:
    return [np.empty(shape, dtype) for shape, dtype in task.shapes]


_opaque: Final = primitive(_solver, result=_like_results)


def call_solver(
    solve: Solve,
    functions: Sequence[Closed],
    arrays: Sequence[Any],
    settings: Mapping[str, Any],
    shapes: Shapes,
) -> list[Any]:
    """Return what a solver returns, as constants.

    `solve`: a function of a module; it gets `functions` and `arrays` with concrete values.
    `functions`, `arrays`, `settings`: what the problem consists of; settings are no arrays, and not
      traced.
    `shapes`: shapes and dtypes of what it returns.
    """
    task = _Task(solve, [f.program for f in functions], settings, shapes)
    captures = [list(f.captures) for f in functions]
    return list(_opaque(task, *stop_gradient((captures, list(arrays)))))


# ---- what SciPy reports --------------------------------------------------------------------------

_messages: Final[list[str]] = []
"""Texts that solvers returned: results of opaque calls are numbers."""


def entry_of(message: Any) -> int:
    """Return the place of a text among those that solvers returned."""
    text = "\n".join(message) if isinstance(message, list) else str(message)
    if text not in _messages:
        _messages.append(text)
    return _messages.index(text)


def message_at(entry: Any) -> str:
    """Return the text at a place, which is the same for all batches and runs if it is not known."""
    try:
        return _messages[int(value_of(entry))]
    except ConcreteValueError:
        return "The message is not known where a function is traced without values: see status."


class Report:
    """Which numbers a solver reports beside its solution: they are constants.

    `names`: with spaces between; ``success`` and ``converged`` are booleans.
    """

    def __init__(self, names: str) -> None:
        self.names = tuple(names.split())

    @property
    def shapes(self) -> Shapes:
        """Of what `numbers` returns."""
        return [((1 + len(self.names),), INT)]

    def numbers(self, result: Mapping[str, Any], message: Any = "") -> list[int]:
        """Return the report of one of SciPy's results as integers, the text's place first."""
        counts = [int(result.get(name, 0)) for name in self.names]
        return [entry_of(message or result.get("message", "")), *counts]

    def fields(self, numbers: Any, message: str = "message") -> dict[str, Any]:
        """Return the report by name."""
        found = {
            name: numbers[k] > 0 if name in ("success", "converged") else numbers[k]
            for k, name in enumerate(self.names, 1)
        }
        return {message: message_at(numbers[0]), **found}


def _register(name: str) -> None:
    """Make a kind of results a container, so that functions may return it, if the user has not."""
    cls: Any = getattr(load("scipy.optimize", name), name)

    def rebuild(keys: tuple[str, ...], values: list[Any]) -> Any:
        found = cls.__new__(cls)
        found.update(zip(keys, values, strict=True))
        return found

    with suppress(PytreeError):
        pytree.register(cls, lambda result: (list(result.values()), tuple(result)), rebuild)


_register("OptimizeResult")
_register("RootResults")


def scipys(name: str) -> Any:
    """Return a function or class of ``scipy.optimize``."""
    return getattr(load("scipy.optimize", name), name)


def takes_positions(function: F) -> F:
    """Let a function take by position what SciPy's of that name takes so."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        names = signature(scipys(function.__name__)).parameters
        if len(args) > len(names):
            raise TypeError(
                f"{function.__name__}() takes {len(names)} arguments, but {len(args)} were given"
            )
        return function(**dict(zip(names, args, strict=False)), **kwargs)

    return cast(F, wrapper)
