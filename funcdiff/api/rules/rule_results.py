"""Applies custom derivative rules: isolates the values that they get, validates their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import lru_cache
from itertools import compress
from operator import is_
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import describe, is_numeric
from funcdiff.api.calls.inputs import as_tracers, operand
from funcdiff.api.calls.tracing import Trace, rebuild
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.recording.quiet import without_warnings
from funcdiff.core.scope import innermost, setting
from funcdiff.core.types import ArrayType
from funcdiff.errors import FuncdiffError, OutputError, TracerError, user_location
from funcdiff.ops.user.custom_rules import smooth
from funcdiff.ops.user.python_call import private_copy
from funcdiff.pytree.hidden import fault_of

# ---- values that rules get and keep: read-only, in memory of their own ---------------------------


def read_only(x: Any) -> Any:
    """Return a value that is not changed by whoever gets it: a read-only view of an array."""
    if issubclass(type(x), np.ndarray):  # which a traced array is only by `isinstance`
        x = x.view()
        x.setflags(False)
    return x


class Same:
    """A call whose rule runs, which may call the function with these very arguments once more.

    `results` is what it has returned, in a tuple; None if it was not called yet.
    """

    def __init__(
        self, function: Any, args: Sequence[Any], results: tuple[Any] | None = None
    ) -> None:
        self._function, self._args, self.results = function, args, results
        self._is_known = results is not None

    def is_of(self, function: Any, args: Sequence[Any]) -> bool:
        """Whether it is this function, called with these arguments."""
        mine = self._args
        return function is self._function and len(args) == len(mine) and all(map(is_, args, mine))

    def result(self, compute: Callable[[], Any]) -> Any:
        """Return what the function returns, calling it only if that is not known."""
        if self._is_known:
            assert self.results is not None
            return pytree.map(private_copy, self.results[0])
        found = compute()
        self.results = (found,)
        return found


NO_CALL: Final = Same(None, ())
"""Stands for a call that is not to be found again."""

_rule: Final[ContextVar[Same | None]] = ContextVar("funcdiff_rule", default=None)

call_of_rule: Final[Callable[[], Same | None]] = _rule.get
"""Return the call whose rule runs on values; None if none does."""


def as_rule(same: Same, f: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call code of the user's as if nothing was being traced, and note whose rule it is.

    NumPy's floating-point warnings are off.
    """
    of_rule, of_builder = _rule.set(same), innermost.set(None)
    try:
        return without_warnings(f, args)
    finally:
        innermost.reset(of_builder)
        _rule.reset(of_rule)


def running_rule(same: Same) -> AbstractContextManager[None]:
    """Note that the rule of a call is being recorded."""
    return setting(_rule, same)


_LEAVES: Final = frozenset((np.ndarray, np.float64, float))


def map_arrays(f: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to every leaf of a container, which mostly is a tuple of arrays."""
    kind = type(tree)
    if kind is tuple:
        return tuple([f(x) if type(x) is np.ndarray else map_arrays(f, x) for x in tree])
    if kind in _LEAVES:
        return f(tree)
    return pytree.map(f, tree)


# ---- results: structure, shapes, dtypes ----------------------------------------------------------


PLAIN: Final = (np.ndarray, np.float64)
"""What functions and rules return most often."""


class Result(NamedTuple):
    """What a function with rules returns: its container, and the types of the numbers in it."""

    structure: pytree.Structure
    numeric: tuple[bool, ...]  # for each leaf, whether it is a number or an array of numbers
    types: tuple[ArrayType, ...]  # of the numeric leaves

    def is_of(self, value: Any) -> bool:
        """Whether this is what a value is; False as well where that is not seen at a glance."""
        type_ = self.types[0] if self.structure is pytree.LEAF and self.types else None
        return (
            type_ is not None
            and type(value) in PLAIN
            and value.shape == type_.shape
            and value.dtype == type_.dtype
        )

    def like(self, cotangents: Sequence[Any]) -> Any:
        """Return a cotangent in the structure of the result; None for what has none."""
        if self.structure is pytree.LEAF and cotangents:
            return cotangents[0]
        floats = set(smooth(self.types))
        rest = iter(cotangents)
        values = [next(rest) if k in floats else None for k in range(len(self.types))]
        others = [None] * (len(self.numeric) - len(self.types))
        return rebuild(self.structure, self.numeric, values, others)

    def match_tangent(self, tangent: Any, rule: RuleName) -> list[Any]:
        """Check the tangent of the result; return one per floating output, None for zero."""
        types = iter(self.types)
        wanted = [next(types) if on else None for on in self.numeric]
        what = rule._replace(part="the tangent")
        return match_derivatives(tangent, self.structure, wanted, what, "the result")

    def check(self, found: Result, rule: RuleName) -> None:
        """Refuse what a rule returned first if it is not what the function returns."""
        if found.structure == self.structure and found.types == self.types:
            return
        raise OutputError(
            f"{rule} must return first what {rule.function} returns, "
            f"{show_types(self.structure, self.types)}, but returned "
            f"{show_types(found.structure, found.types)}, at {user_location()}. Convert or "
            "reshape it."
        )


def result_of(trace: Trace) -> Result:
    """Return what was returned, without auxiliary results."""
    types = tuple(y.type for y in trace.outputs[: sum(trace.numeric)])
    return Result(trace.structure, trace.numeric, types)


class Parts(NamedTuple):
    """A result that was returned, taken apart."""

    result: Result
    numbers: list[Any]
    others: list[Any]


def take_apart(tree: Any, who: object) -> Parts:
    """Take a container of values apart, which `who` returned."""
    leaves, structure = pytree.flatten(tree)
    numeric = tuple(map(is_numeric, leaves))
    numbers = list(compress(leaves, numeric))
    others = [x for x, on in zip(leaves, numeric, strict=True) if not on]
    refuse_hidden(structure, numeric, others, who)
    types = tuple([ArrayType(x.shape, x.dtype) for x in map(operand, numbers)])
    return Parts(Result(structure, numeric, types), numbers, others)


def refuse_hidden(
    structure: pytree.Structure, numeric: Sequence[bool], others: Sequence[Any], who: object
) -> None:
    """Refuse other libraries' numbers, and what may hold numbers, among the rest of a result."""
    for k, leaf in zip([k for k, on in enumerate(numeric) if not on], others, strict=True):
        fault = fault_of(leaf, alone=False)
        if fault is not None:
            raise OutputError(
                f"{who} returned something of which the derivative would be lost: "
                f"result{pytree.paths(structure)[k]} {fault.problem}, at {user_location()}. "
                f"{fault.cure}"
            )


class Argument(NamedTuple):
    """An argument that has a derivative: its container, and the type of each number in it.

    Of a leaf that is no number, the type is None.
    """

    structure: pytree.Structure
    types: Sequence[ArrayType | None]

    def is_like(self, ct: Any) -> bool:
        """Whether it is one array, with a derivative of this type."""
        type_ = self.types[0] if self.structure is pytree.LEAF else None
        return (
            type_ is not None
            and type_.differentiable
            and ct.dtype == type_.dtype
            and ct.shape == type_.shape
        )


class Kind:
    """Calls whose arguments have the same types, and are traced alike.

    `arguments` are the containers of those with derivatives, and the types in them; `traced` says
    which operands are traced.
    """

    def __init__(
        self, arguments: Sequence[Argument], types: Sequence[ArrayType], traced: Sequence[bool]
    ) -> None:
        self.arguments = arguments
        floating = smooth(types)
        self.floating = [types[k] for k in floating]  # types of the operands that have derivatives
        self.places = [n for n, k in enumerate(floating) if traced[k]]  # which of these are traced
        self.moving = [floating[n] for n in self.places]  # their indices among all operands
        self.operands = tuple([types[k] for k in self.moving])  # their types


@lru_cache(maxsize=1024)
def kind_of(
    structure: pytree.Structure,
    flags: tuple[bool, ...],
    types: tuple[ArrayType, ...],
    traced: tuple[bool, ...],
) -> Kind:
    """Return what calls with such arguments have in common."""
    rest = iter(types)
    leaves = iter([next(rest) if flag else None for flag in flags])
    arguments = [
        Argument(child, [next(leaves) for _ in range(child.leaf_count)])
        for child in structure.children
    ]
    return Kind(arguments, types, traced)


def _plainly(rule: Callable[..., Any], args: Sequence[Any]) -> Any:
    return rule(*args)


class Rules:
    """Rules of calls, applied to values and to what is traced alike; `run` runs their code.

    Derivatives come and go without conjugation, as in programs, one for each operand or result that
    is floating; `fixed` are the arguments that rules get as they are.
    """

    def __init__(self, name: str, fixed: Sequence[Any], kind: Kind) -> None:
        self.name, self.fixed, self.kind = name, fixed, kind

    def run_backward(
        self, rule: Callable[..., Any], residuals: Any, result: Result, cts: Sequence[Any],
        run: Callable[..., Any] = _plainly,
    ) -> list[Any]:  # fmt: skip
        """Return what a backward rule returns, checked; None for zero."""
        cotangent = result.like([read_only(conjugate(ct)) for ct in cts])
        returned = run(rule, (*self.fixed, residuals, cotangent))
        who = RuleName("backward", rule, self.name)
        found = match_cotangents(self.kind.arguments, who, returned)
        return [x if x is None else conjugate(x) for x in found]

    def run_jvp(
        self, rule: Callable[..., Any], primals: Any, ts: Sequence[Any],
        run: Callable[..., Any] = _plainly,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Return the pair that a JVP rule returns; in the place of tangents None there are zeros.

        Leaves without a derivative have None.
        """
        rest = iter(zip(ts, self.kind.floating, strict=True))
        trees = []
        for structure, types in self.kind.arguments:
            leaves = [
                read_only(or_zeros(*next(rest))) if t is not None and t.differentiable else None
                for t in types
            ]
            trees.append(pytree.unflatten(structure, leaves))
        returned = run(rule, (*self.fixed, primals, tuple(trees)))
        return pair_of(returned, RuleName("JVP", rule, self.name))


def conjugate(x: Any) -> Any:
    """Return the complex conjugate of a value."""
    return x.conj() if x.dtype.kind == "c" else x


def or_zeros(x: Any, type_: ArrayType) -> Any:
    """Return a derivative, zeros in the place of None."""
    return np.zeros(type_.shape, type_.dtype)[()] if x is None else x


def pair_of(returned: Any, rule: RuleName) -> tuple[Any, Any]:
    """Return the pair that a forward or JVP rule has to return."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        entries = f" of {len(returned)} entries" if isinstance(returned, tuple | list) else ""
        second, none = "tangent", "the tangent is zero"
        if rule.kind == "forward":
            second, none = "residuals", "the backward rule needs nothing"
        raise OutputError(
            f"{rule} must return a pair (out, {second}), but returned "
            f"{describe(returned)}{entries}, at {user_location()}. Return (out, None) if {none}."
        )
    return returned


def match_cotangents(arguments: Sequence[Argument], rule: RuleName, returned: Any) -> list[Any]:
    """Check what a backward rule returned; return one per floating operand, None for zero."""
    is_tuple = type(returned) is tuple or isinstance(returned, tuple | list)
    if not is_tuple or len(returned) != len(arguments):
        count = f"{len(returned)} entries" if is_tuple else describe(returned)
        raise OutputError(
            f"{rule} must return a tuple with one entry per argument, {len(arguments)} in all, but "
            f"returned {count}, at {user_location()}. Return (ct,) for one argument, (ct, None) of "
            "two, if the second has none."
        )
    found: list[Any] = []
    is_traced = current_builder() is not None
    for k, (argument, ct) in enumerate(zip(arguments, returned, strict=True)):
        if type(ct) in PLAIN and not is_traced and argument.is_like(ct):  # most often
            found.append(ct)
            continue
        what = rule._replace(part=f"entry {k}")
        try:
            found += match_derivatives(
                ct, argument.structure, argument.types, what, f"argument {k}"
            )
        except OutputError as error:
            raise OutputError(f"{error}{_order_of(arguments, returned)}") from None
    return found


def _order_of(arguments: Sequence[Argument], returned: Sequence[Any]) -> str:
    """Return the advice to put entries into the order of the arguments, if they fit in another."""
    shapes = [[None if t is None else t.shape for t in a.types] for a in arguments]
    given = [[np.shape(x) for x in pytree.flatten(ct)[0]] for ct in returned]
    if given == shapes or sorted(map(repr, given)) != sorted(map(repr, shapes)):
        return ""
    return " The entries fit the arguments in another order: return one per argument, in theirs."


class RuleName(NamedTuple):
    """How messages call a rule, or a part of what it returned; made out when it is shown."""

    kind: str
    rule: Callable[..., Any]
    function: str
    part: str = ""

    @property
    def takes(self) -> str:
        """What it is called with, by position: what is confused most often."""
        given = {"backward": "residuals, cotangent", "JVP": "primals, tangents"}.get(self.kind)
        return f"({given}), in this order" if given else ""

    def __str__(self) -> str:
        part = f": {self.part}" if self.part else ""
        return f"the {self.kind} rule {FunctionName(self.rule)} of {self.function}{part}"


def note_traced(error: Exception, who: object) -> None:
    """Note that a function or a rule met traced arrays, and where it would have met plain ones."""
    notes: list[str] = getattr(error, "__notes__", [])
    if (isinstance(error, FuncdiffError) and not isinstance(error, TracerError)) or any(
        " was traced:" in note for note in notes
    ):
        return
    takes = f" with {who.takes}" if isinstance(who, RuleName) and who.takes else ""
    error.add_note(
        f"funcdiff: {who} was traced{takes}: only in a derivative of the first order by fd.grad, "
        "fd.value_and_grad, fd.vjp or fd.jvp, outside of jit, vmap, scan, cond and other "
        "derivatives, do functions with rules run on values, backward rules in reverse mode and "
        "JVP rules in forward mode. Write it with NumPy's functions, fd.cond or np.where where it "
        "branches, or call what cannot be traced through fd.primitive(f, result=lambda *args: "
        "np.empty(shape)), which has rules of its own."
    )


def match_derivatives(
    value: Any,
    structure: pytree.Structure,
    types: Sequence[ArrayType | None],
    what: object,
    target: str,
) -> list[Any]:
    """Return the leaves of a derivative for those that are floating, checked; None is zero."""
    if structure is pytree.LEAF and (value is None or is_numeric(value)):  # most often
        type_ = types[0]
        if type_ is None or not type_.differentiable:
            return []
        return [None if value is None else fit_derivative(value, type_, what)]
    paths = pytree.paths(structure)
    given, found = pytree.flatten_with_paths(value)
    leaves = dict(given)
    if value is not None:
        # the tree that is wanted, with None where none was given, must be the one that came
        partial = pytree.unflatten(structure, [0 if path in leaves else None for path in paths])
        if not set(leaves) <= set(paths) or pytree.flatten(partial)[1] != found:
            raise OutputError(
                f"{what} is {show_types(found, list(leaves.values()))}, but {target} is "
                f"{structure}, at {user_location()}. Return one like it, with None for zeros."
            )
    return [
        None if leaves.get(path) is None else fit_derivative(leaves[path], type_, f"{what}{path}")
        for type_, path in zip(types, paths, strict=True)
        if type_ is not None and type_.differentiable
    ]


def fit_derivative(leaf: Any, type_: ArrayType, what: object) -> Any:
    """Return a derivative in the type of its primal: a tracer where something is being traced."""
    x: Any = operand(leaf) if current_builder() is None else as_tracers([operand(leaf)])[0]
    if x.shape != type_.shape:
        raise OutputError(
            f"{what} has shape {x.shape}, expected {type_.shape}, at {user_location()}. "
            f"{_cure_of_shape(x.shape, type_.shape)}"
        )
    if x.dtype != type_.dtype:
        if not np.can_cast(x.dtype, type_.dtype, "same_kind"):
            raise OutputError(
                f"{what} has dtype {x.dtype}, expected {type_.dtype}, at {user_location()}. "
                "Take the real part of what is complex, and convert the rest with .astype."
            )
        x = x.astype(type_.dtype)
    return x


def _cure_of_shape(shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """Return how a derivative gets the shape of its primal: it lacks axes, or has too many."""
    try:
        joined = np.broadcast_shapes(shape, wanted)
    except ValueError:
        joined = ()
    if joined == wanted:
        return f"It is smaller: np.broadcast_to(v, {wanted}) if all elements have the same."
    if joined == shape:
        return "It is larger: sum over the axes along which the argument was broadcast."
    return "Reshape or transpose it."


def show_types(structure: pytree.Structure, leaves: Sequence[Any]) -> str:
    """Return how messages show a container and the types of its leaves."""
    types = ", ".join(map(_type_name, leaves))
    return types if structure is pytree.LEAF else f"{structure} of {types}"


def _type_name(leaf: Any) -> str:
    if isinstance(leaf, ArrayType):
        return str(leaf)
    return str(getattr(leaf, "type", type(leaf).__name__))
