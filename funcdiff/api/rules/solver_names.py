"""Names of solvers given by users: the same solver has the same name in every call.

A program calls its solver by name, so only what is called by the same name again is found in the
caches.  A lambda is made anew by every call: functions are told apart by their code and by the
values that they close over.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Hashable
from types import CellType, CodeType, FunctionType
from typing import Any, Final
from weakref import WeakValueDictionary

from funcdiff import pytree
from funcdiff.api.calls.arguments import name_of
from funcdiff.api.rules.solving import Calls, Equation
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.ops.user.python_call import Name
from funcdiff.ops.user.solved_equations import Run, entered
from funcdiff.pytree.statics import static_key

_entered: Final[WeakValueDictionary[Hashable, Name[Run]]] = WeakValueDictionary()
"""The solvers that are in use, by what tells them apart."""


def name_solver(
    solve: Callable[..., Any], structure: pytree.Structure, what: str, *,
    has_aux: bool, equation: Equation,
) -> Name[Run]:  # fmt: skip
    """Return the name of a solver for unknowns of a structure, entering it if it is new.

    Raises `InputError`, which speaks of `what`, if it closes over a traced array.
    """
    key, frozen = _freeze(solve, what, ())
    whole = (key, structure, has_aux, equation)
    found = _entered.get(whole)
    if found is None:
        found = entered.enter(name_of(solve), Calls(frozen, structure, has_aux, equation))
        _entered[whole] = found
    return found


class _NotComparableError(Exception):
    """A value that is equal to nothing but itself."""


def _freeze(value: Any, what: str, above: tuple[int, ...]) -> tuple[Hashable, Any]:
    """Return what tells a value apart, and the value as it is now.

    Functions are copied with their cells: what they close over may be bound anew later.
    """
    _refuse_traced(value, what)
    try:
        if isinstance(value, FunctionType) and id(value) not in above:
            return _freeze_function(value, what, (*above, id(value)))
        if type(value) is functools.partial:
            return _freeze_partial(value, what, above)
    except _NotComparableError:
        return ("object", value), value
    try:
        return static_key(value), value
    except TypeError:
        return _Unique(), value


class _Unique:
    """Equal to nothing but itself."""


def _freeze_function(
    f: FunctionType, what: str, above: tuple[int, ...]
) -> tuple[Hashable, FunctionType]:
    if _rebinds(f.__code__):
        raise _NotComparableError
    try:
        contents = [cell.cell_contents for cell in f.__closure__ or ()]
    except ValueError as error:  # a cell that is still empty
        raise _NotComparableError from error
    defaults = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    pairs = [_comparable(value, what, above) for value in (*contents, *defaults)]
    key = (f.__code__, id(f.__globals__), tuple(k for k, _ in pairs))
    if not contents:
        return key, f
    cells = tuple(CellType(value) for _, value in pairs[: len(contents)])
    copy = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, cells)
    copy.__kwdefaults__ = f.__kwdefaults__
    return key, copy


@functools.lru_cache(maxsize=256)
def _rebinds(code: CodeType) -> bool:
    """Whether code binds anew what it closes over (``nonlocal``): of a copy, that would be lost."""
    own = any(
        step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars
        for step in dis.get_instructions(code)
    )
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return own or any(
        _rebinds(part) and not set(part.co_freevars) <= set(code.co_cellvars) for part in inner
    )


def _freeze_partial(
    f: functools.partial[Any], what: str, above: tuple[int, ...]
) -> tuple[Hashable, functools.partial[Any]]:
    function, *args = (_comparable(value, what, above) for value in (f.func, *f.args))
    named_args = {word: _comparable(value, what, above) for word, value in f.keywords.items()}
    key = (
        "partial",
        function[0],
        tuple(k for k, _ in args),
        tuple((word, k) for word, (k, _) in named_args.items()),
    )
    keywords = {word: value for word, (_, value) in named_args.items()}
    return key, functools.partial(function[1], *(value for _, value in args), **keywords)


def _comparable(value: Any, what: str, above: tuple[int, ...]) -> tuple[Hashable, Any]:
    """As `_freeze`, of a part of a function, which is no longer told apart if the part is not."""
    key, frozen = _freeze(value, what, above)
    if type(key) is _Unique:
        raise _NotComparableError
    return key, frozen


def _refuse_traced(value: Any, what: str) -> None:
    leaves = pytree.flatten(value)[0] if type(value) in (list, tuple, dict) else [value]
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            raise InputError(
                f"{what} closes over a traced array of type {leaf.type}, at {user_location()}, but "
                "it runs with concrete arrays, later. Let it use the function that it is given, "
                "whose arrays are concrete; if it needs the value of a constant, take "
                "np.array(fd.stop_gradient(x)) outside."
            )
