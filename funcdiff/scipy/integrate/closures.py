"""Traces integrands and right-hand sides to programs, whose first inputs are the captures."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from funcdiff.adapting.conditions import forgiveness
from funcdiff.api.calls.inputs import Operands
from funcdiff.api.calls.tracing import run
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.errors import OutputError, user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import borrow
from funcdiff.scipy.covered import cover, load
from funcdiff.scipy.equalities import attributes, set_attributes

NUMBER = ArrayType((), FLOAT)
"""The type of a time, or of a point on a line."""


def attempt(trace: Callable[[], Any], *others: Any) -> Any:
    """Trace a function, or return why that failed if nothing else is traced.

    What cannot be traced may still be a plain function of plain values, for which `refuse_tracing`
    is.
    """
    forgive = forgiveness()
    try:
        return trace()
    except Exception as error:
        if has_tracer(*others):
            raise
        forgive()
        return error


def require_rates(found: Any, call: str, *counts: int) -> None:
    """Refuse rates of another number than the elements of the state; `call` says who wants them."""
    if found.size not in counts:
        raise OutputError(
            f"{call} has to return an array like y0, of size {counts[0]}, but returned shape "
            f"{found.shape}, at {user_location()}. Its arguments come in this order."
        )


def refuse_tracing(f: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    """Return a function that could not be traced; it raises why if its values are traced."""

    @wraps(f)
    def plain(*args: Any) -> Any:
        y = f(*args)
        if has_tracer(y):
            raise error
        return y

    return plain


def entry(module: str, name: str, *, note: str = "") -> Callable[[Any], Any]:
    """Cover a function that takes functions: ours is called whenever something is traced.

    Its arguments come as they are, containers of arguments of functions among them.
    """
    plain = scipys(module, name)

    def enter(ours: Callable[..., Any]) -> Any:
        @public
        @wraps(ours)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if current_builder() is None:
                return plain(*args, **kwargs)
            return ours(*args, **kwargs)

        cover(module, name, wrapper, note=note)
        return wrapper

    return enter


def scipys(module: str, name: str) -> Callable[..., Any]:
    """Return a function of SciPy's, whose solution, between nodes, takes traced places, too."""

    def plain(*args: Any, **kwargs: Any) -> Any:
        found = getattr(load(module), name)(*args, **kwargs)
        sol = getattr(found, "sol", None)
        if sol is not None:
            found.sol = _borrow_object(sol)
            if hasattr(sol, "interpolants"):
                found.sol.interpolants = [*map(_borrow_object, sol.interpolants)]
        return found

    return plain


def _borrow_object(plain: Any) -> Any:
    """Return an object of SciPy's, and those that it holds, with methods for traced arrays."""
    kind = borrow(type(plain))
    if kind is type(plain):
        return borrow(plain) if callable(plain) or isinstance(plain, ModuleType) else plain
    found = kind.__new__(kind)
    set_attributes(found, {k: _borrow_object(v) for k, v in attributes(plain).items()})
    return found


def has_tracer(*values: Any) -> bool:
    """Return whether numbers or arrays in containers are traced."""
    return any(isinstance(x, Tracer) for x in Operands(values).leaves)


def rate_of(program: Program, captures: Any) -> Callable[[Any, Any], Any]:
    """Return the function ``f(t, y)`` that a program ``(*captures, t, y)`` is of."""
    return lambda t, y: run(program, [*captures, array(t), array(y)])[0]
