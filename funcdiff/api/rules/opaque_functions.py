"""`primitive`: NumPy or SciPy code that cannot be traced, with custom derivative rules."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, ParamSpec, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import check_optional_functions, look_up_call
from funcdiff.api.calls.inputs import Operands, as_tracers
from funcdiff.api.calls.tracing import rebuild
from funcdiff.api.calls.transformed import explains_calls
from funcdiff.api.rules.custom_call import Call
from funcdiff.api.rules.custom_derivatives import CustomFunction
from funcdiff.api.rules.rule_results import Result, call_of_rule, map_arrays, take_apart
from funcdiff.core.recording.concrete import calls_of, key_of
from funcdiff.core.scope import setting, without_recording
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, OutputError, user_location
from funcdiff.numpy.border.promotion import as_number, innermost, is_weak
from funcdiff.numpy.border.values import value_of
from funcdiff.ops.user.python_call import Function, Name, Opaque, entered, opaque, private_copy

P = ParamSpec("P")
R = TypeVar("R")


_RECENT: Final = 64
"""How many kinds of arguments a function is kept for where no program calls it with them."""


class _Shown(NamedTuple):
    """What a result is, which of its numbers are Python's, and the rest of it.

    Of numbers that is known if the function was called to find out.
    """

    result: Result
    weak: tuple[bool, ...]
    others: list[Any]


_Known: TypeAlias = dict[tuple[ArrayType, ...], _Shown | None]
"""Results by types of arguments; None if they are of different kinds."""

_made: Final[ContextVar[dict[Hashable, _Shown] | None]] = ContextVar(
    "funcdiff_opaque", default=None
)
"""Calls that were made while a call is traced: its rules, too, make that very call."""


class OpaqueFunction(CustomFunction[P, R]):
    """A function that is called with concrete arrays; made by `primitive`."""

    _is_opaque = True

    def __init__(
        self,
        f: Callable[P, R],
        nondiff_argnums: int | Sequence[int],
        result: Callable[P, Any] | None,
        batch: Callable[..., Any] | None,
    ) -> None:
        super().__init__(f, "primitive", nondiff_argnums)
        check_optional_functions("primitive", result=result, batch=batch)
        self._options |= {"result": result, "batch": batch}
        self._result = result
        self._batch = batch
        self._has_effects = True
        self._names: WeakValueDictionary[Any, Name[Function]] = WeakValueDictionary()
        self._recent: deque[Name[Function]] = deque(maxlen=_RECENT)
        self._results: WeakKeyDictionary[Name[Function], _Known] = WeakKeyDictionary()

    def _parts(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        return primitive, (self._function,), self._options

    def _plain(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function; what a rule gives it is read-only, and it may want memory to use."""
        if call_of_rule() is None:
            return self._function(*args, **kwargs)
        function: Callable[..., R] = self._function
        if not kwargs:
            return function(*map_arrays(private_copy, args))
        given, named = map_arrays(private_copy, (args, kwargs))
        return function(*given, **named)

    def _trace_call(self, call: Call) -> Any:
        made = _made.get()
        with setting(_made, {} if made is None else made):
            return super()._trace_call(call)

    @property
    def _code(self) -> Callable[..., Any]:
        return self._record_call

    def _record_call(self, *args: Any) -> Any:
        """Record the call; the numbers among the arguments become operands."""
        given = Operands(args)
        xs, structure, numeric, weak = given.xs, given.structure, tuple(given.flags), given.weak
        statics = tuple(x for x, on in zip(given.leaves, numeric, strict=True) if not on)
        rebuilt = functools.partial(_rebuild, structure, numeric, statics, weak)
        name = self._name_of(structure, numeric, statics, tuple(weak))
        found = self._result_of(name, rebuilt, xs, tuple(given.types))
        structure, numeric, outputs = found.result
        results = opaque(Opaque(name, outputs, ()), as_tracers(xs)) if outputs else ()
        ys = [as_number(y) if flag else y for y, flag in zip(results, found.weak, strict=True)]
        return rebuild(structure, numeric, ys, found.others)

    def _name_of(
        self,
        structure: pytree.Structure,
        numeric: tuple[bool, ...],
        statics: tuple[Any, ...],
        weak: tuple[bool, ...],
    ) -> Name[Function]:
        """Return the name for arguments of this kind, entering the function if it is new."""
        kind = structure, numeric, weak
        key, found = look_up_call(self._names, kind, statics, self._name)
        if found is not None:
            return found
        rebuilt = functools.partial(_rebuild, structure, numeric, statics)
        strong = (False,) * len(weak)  # a batch of Python numbers is an array
        function: Callable[..., Any] = self._function
        known: _Known = {}

        def run(*xs: Any) -> list[Any]:
            types = tuple([ArrayType(x.shape, x.dtype) for x in xs])
            return self._numbers(function(*rebuilt(weak, xs)), known.get(types))

        def run_batch(size: int, *xs: Any) -> list[Any]:
            assert self._batch is not None
            return self._numbers(self._batch(size, *rebuilt(strong, xs)), None)

        batch = run_batch if self._batch is not None else None
        name = entered.enter(self._name, Function(run, batch, self._has_effects))
        self._names[key], self._results[name] = name, known
        self._recent.append(name)
        return name

    def _result_of(
        self,
        name: Name[Function],
        rebuilt: Callable[..., Any],
        xs: Sequence[Any],
        types: tuple[ArrayType, ...],
    ) -> _Shown:
        """Return what the result is made of: as declared, else by calling the function.

        What it was before, for arguments of these types, counts only where there are no values.
        """
        known = self._results[name]
        before = known.get(types)
        if before is None and self._result is not None:
            blank = [np.broadcast_to(np.zeros((), t.dtype), t.shape) for t in types]
            declared: Callable[..., Any] = self._result
            before = known[types] = self._take_apart(declared(*rebuilt(blank)))[1]
        if before is not None and self._result is not None and not before.others:
            return before
        try:
            values = list(map(value_of, xs))
        except ConcreteValueError as error:
            if before is not None and not before.others:
                return before
            raise self._error_without_values(before, differs=types in known) from error
        key, made = key_of(name, values), _made.get()
        if made is not None and key in made:
            return made[key]
        function: Callable[..., Any] = self._function
        with without_recording():
            shown = function(*rebuilt(list(map(private_copy, values))))
        numbers, found = self._take_apart(shown)
        # for nothing but what it is made of: the equation will have these results
        key_of_equation = key_of(Opaque(name, found.result.types, ()), values)
        calls_of(innermost()).note(key_of_equation, numbers, None)
        if made is not None:
            made[key] = found
        if self._result is None:
            if len(known) >= _RECENT:
                known.clear()
            before = known.get(types, found)
            known[types] = found if before is not None and before[:2] == found[:2] else None
        return found

    def _error_without_values(self, known: _Shown | None, *, differs: bool) -> ConcreteValueError:
        """Return the error for a call without values whose result cannot be told."""
        where = (
            f"is not known at {user_location()}: its arguments have no values here (inside vmap, "
            "cond, scan, jit or a rule)"
        )
        if known is None:
            so_far = ", and it has returned results of different kinds" if differs else ""
            return ConcreteValueError(
                f"what {self._name} returns {where}{so_far}. Declare it: "
                "fd.primitive(f, result=lambda *args: np.empty(shape))."
            )
        path = pytree.paths(known.result.structure)[known.result.numeric.index(False)]
        return ConcreteValueError(
            f"what {self._name} returns {where}, and result{path}, such as {known.others[0]!r}, is "
            "no array, which could be found later. Return numbers and arrays only: np.bool_(flag), "
            "or an integer for a choice."
        )

    def _take_apart(self, shown: Any) -> tuple[list[Any], _Shown]:
        """Return the numbers in a result that was returned, or declared, and what it is made of."""
        result, numbers, others = take_apart(shown, self._name)
        weak = tuple(self._result is None and is_weak(y) for y in numbers)
        return numbers, _Shown(result, weak, others)

    def _numbers(self, result: Any, known: _Shown | None) -> list[Any]:
        """Return the numbers in a result, in the container that was taken for granted if any."""
        numbers, (found, *_) = self._take_apart(result)
        wanted = found if known is None else known.result
        if found[:2] == wanted[:2]:
            return numbers
        raise OutputError(
            f"{self._name} returned {found.structure} where it had returned, or declared, "
            f"{wanted.structure} for arguments of these types. An opaque function must return the "
            "same container for the same shapes and dtypes."
        )


def without_effects(function: OpaqueFunction[P, R]) -> OpaqueFunction[P, R]:
    """Let a function be called as often as it suits, and return it."""
    function._has_effects = False
    return function


def _rebuild(
    structure: pytree.Structure,
    numeric: Sequence[bool],
    statics: Sequence[Any],
    weak: Sequence[bool],
    xs: Sequence[Any],
) -> tuple[Any, ...]:
    given = [x.item() if flag else x for x, flag in zip(xs, weak, strict=True)]
    arguments: tuple[Any, ...] = rebuild(structure, numeric, given, statics)
    return arguments


@explains_calls
def primitive(
    f: Callable[P, R],
    *,
    result: Callable[P, Any] | None = None,
    batch: Callable[..., Any] | None = None,
    nondiff_argnums: int | Sequence[int] = (),
) -> OpaqueFunction[P, R]:
    """Declare a function as opaque: it is called with concrete arrays, never traced.

    For solvers, special functions, compiled code: whatever leaves NumPy.  Declare it once, at the
    top level of a module, and give it a rule with ``defvjp`` or ``defjvp`` (as `custom_vjp` and
    `custom_jvp` take them), which may call other primitives.

    Parameters
    ----------
    f
        Function of arrays and containers.  Where it has no values (see `result`), it must return
        numbers and arrays only, with the same shapes and dtypes for arguments of the same shapes
        and dtypes.  In a derivative it gets copies of its arguments.
    result
        ``result(*args)`` returns arrays of the shapes and dtypes of the result; it is called with
        zeros.  Needed where `f` is used without values: inside `jit`, `vmap`, `cond`, `scan`, and
        in rules of which a second derivative is taken.
    batch
        ``batch(size, *args)``: `f` of arguments that all have an axis of length `size` in front;
        by default `f` is called in a loop.
    nondiff_argnums
        Positions of arguments that rules are given as they are.

    Returns
    -------
    OpaqueFunction
        `f` with the methods ``defvjp`` and ``defjvp``.

    Raises
    ------
    NotDifferentiableError
        If a derivative is taken and there is no rule.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> erf = fd.primitive(lambda x: math.erf(x))
    >>> @erf.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return erf(x), 2 / np.sqrt(np.pi) * np.exp(-(x**2)) * t
    >>> print(fd.grad(erf)(0.0), fd.grad(fd.grad(erf))(0.5))
    1.1283791670955126 -0.8787825789354448
    """
    return OpaqueFunction(f, nondiff_argnums, result, batch)
