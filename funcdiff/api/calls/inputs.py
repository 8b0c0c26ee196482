"""Takes arguments apart: the numbers in them become operands of programs, all the rest stays.

Those that are differentiated are chosen by number or name before.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from functools import cache
from textwrap import shorten
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import (
    check_function,
    ints_of,
    is_int,
    is_numeric,
    names_of,
    suggestion,
)
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.api.signatures.variables import Argnames, Argnums
from funcdiff.core.late import computed
from funcdiff.core.recording.builder import constant_left, current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, native
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.border.promotion import array, is_weak
from funcdiff.numpy.memory import views
from funcdiff.numpy.messages.foreign import describe_class, lost_by_tracing
from funcdiff.pytree.hidden import fault_of
from funcdiff.pytree.structure import same_value, slice_structure

_SCALARS: Final = {float: np.float64, complex: np.complex128}


def is_array_without_axes(x: Any) -> bool:
    """Whether an operand is, or stands for, an array of shape (), rather than a scalar."""
    return isinstance(x, np.ndarray) and not x.shape


def operand(leaf: Any) -> Any:
    """Return a numeric leaf as the interpreter takes it: an array, a NumPy scalar, or a tracer."""
    kind = type(leaf)
    if kind is np.ndarray:
        return leaf if leaf.dtype.isnative else native(leaf)
    if isinstance(leaf, Tracer):
        if current_builder() is not None:
            return leaf
        value = constant_left(leaf)
        return np.asarray(value) if isinstance(leaf, np.ndarray) else value
    lost = lost_by_tracing(leaf)
    if lost:
        raise InputError(f"{describe_class(leaf)} was given at {user_location()}: {lost}.")
    if isinstance(leaf, np.generic):
        return leaf
    x = _SCALARS.get(kind, np.asarray)(leaf)
    if kind is int and x.dtype.kind != "i":  # uint64, or objects; browsers' are of 32 bits
        raise InputError(
            f"the integer {leaf} does not fit in int64, at {user_location()}. Make it a float."
        )
    return x


def type_of(x: Any) -> ArrayType:
    """Return the type of an operand."""
    return x.type if isinstance(x, Tracer) else ArrayType(x.shape, x.dtype)


def differentiable_operand(leaf: Any, structure: pytree.Structure, k: int, argument: object) -> Any:
    """Return a leaf of a differentiated argument as an operand.

    Raises `InputError`, with the leaf's path, if it is an integer or boolean array.
    """
    x = operand(leaf)
    if x.dtype.kind in "fc":
        return x
    path = f"{argument}{pytree.paths(structure)[k]}"
    many = np.ndim(x) > 0 or isinstance(leaf, Tracer)
    kind = "boolean" if isinstance(leaf, np.bool_) else "integer"
    what = f"an array of dtype {x.dtype}" if many else f"the {kind} {leaf}"
    number = f"such as {float(leaf)}" if type(leaf) is int else "such as 2.0"
    raise InputError(
        f"{path} is {what}, which has no derivative, at {user_location()}. Make it a float "
        f"({'.astype(float)' if many else number}), keep it out of the "
        "differentiated argument, or mark its dataclass field as static "
        "(field(metadata={'static': True}))."
    )


def as_tracers(values: Sequence[Any]) -> list[Tracer]:
    """Return operands, of which some are traced, as tracers of the innermost builder."""
    return [array(x) for x in values]


# ---- containers ----------------------------------------------------------------------------------


def _is_array(x: Any) -> bool:
    """Whether a leaf is an operand as it is, as most arguments of most functions are."""
    kind = type(x)
    if kind is np.ndarray:
        return x.dtype.char in "fd" and x.dtype.isnative
    return issubclass(kind, Tracer)


@cache
def _structure_of(count: int) -> pytree.Structure:
    """Return the structure of a tuple of leaves."""
    return pytree.flatten((0,) * count)[1]


class Operands:
    """A container, of which the numbers and arrays are given other values.

    Strings, flags and functions in it stay in place; `is_operand` tells which leaves are operands,
    by default numbers and arrays of numbers.
    """

    def __init__(self, tree: Any, is_operand: Callable[[Any], bool] = is_numeric) -> None:
        if type(tree) is tuple and is_operand is is_numeric and all(map(_is_array, tree)):
            self.leaves, self.structure = list(tree), _structure_of(len(tree))
            self.flags = [True] * len(tree)
            self.numbers = self.xs = self.leaves
            return
        self.leaves, self.structure = pytree.flatten(tree)
        self.flags = [is_operand(leaf) for leaf in self.leaves]  # by leaf
        self.numbers = self.among(self.leaves)  # the operands as they came
        self.xs = [operand(leaf) for leaf in self.numbers]  # the operands as programs take them

    @computed
    def weak(self) -> list[bool]:
        """For each operand, whether it is a Python number."""
        return [is_weak(leaf) for leaf in self.numbers]

    @computed
    def types(self) -> list[ArrayType]:
        """Types of the operands."""
        return [type_of(x) for x in self.xs]

    @computed
    def paths(self) -> list[str]:
        """Where the operands are."""
        return self.among(pytree.paths(self.structure))

    def among(self, leaves: Sequence[Any]) -> list[Any]:
        """Return those of other leaves that stand where operands are."""
        return [leaf for leaf, flag in zip(leaves, self.flags, strict=True) if flag]

    def changes(self, leaves: Sequence[Any]) -> Iterator[tuple[str, Any, Any]]:
        """Yield path, value and new value of what is no operand, where it is not as it was."""
        paths = pytree.paths(self.structure)
        for path, flag, before, leaf in zip(paths, self.flags, self.leaves, leaves, strict=True):
            if not flag and not same_leaf(before, leaf):
                yield path, before, leaf

    def of_row(self) -> Operands:
        """Return what has one row of every operand in its place, with the labels that are left."""
        found = copy(self)
        axes = [0 if flag else None for flag in self.flags]
        found.structure = slice_structure(self.structure, axes)
        return found

    def tree(self, values: Sequence[Any]) -> Any:
        """Return the container with these values of the operands."""
        if self.structure is _structure_of(len(self.leaves)):
            return tuple(values)
        rest = iter(values)
        pairs = zip(self.leaves, self.flags, strict=True)
        return pytree.unflatten(
            self.structure, [next(rest) if flag else leaf for leaf, flag in pairs]
        )


def on_operands(f: Callable[..., Any], invocation: Operands) -> Callable[[list[Tracer]], Any]:
    """Return `f` as a function of the operands among ``(args, kwargs)``."""

    def call(tracers: list[Tracer]) -> Any:
        args, kwargs = invocation.tree(tracers)
        return f(*args, **kwargs)

    return call


def same_leaf(a: Any, b: Any) -> bool:
    """Whether two leaves that are no arrays of numbers are the same."""
    try:
        return same_value(a, b)
    except TypeError:  # an array of strings, say
        return type(a) is type(b) and bool(np.array_equal(a, b))


# ---- differentiated arguments: chosen by number or name ------------------------------------------


_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Selection:
    """The arguments in which a function is differentiated.

    `transform` is the name of the transform, for messages; `every` means all positional arguments,
    not the first, if neither numbers nor names are given.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        transform: str,
        argnums: Argnums | None = None,
        argnames: Argnames | None = None,
        *,
        every: bool = False,
    ) -> None:
        check_function(function, transform, "f" if every else None)
        self.name = FunctionName(function)  # the function's, for messages
        self.transform = transform
        self._function = function
        nothing = argnums is None and argnames is None
        self._every = nothing and every
        self._argnums: Argnums = 0 if nothing else (() if argnums is None else argnums)
        self._argnames: Argnames = () if argnames is None else argnames
        # One argument without a tuple, so that the derivative comes without one.
        self.single = not self._every and is_single(argnums, argnames)
        self._numbers = (0,) if nothing else _numbers(self._argnums)
        self._names = () if argnames is None else _names(argnames)
        for name in self._names:
            self._refuse_unknown(name)

    def places(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[int | str, ...]:
        """Return the positions and keywords of the arguments in a call.

        Raises `InputError` if one was not given, or is chosen twice.
        """
        if self._every:
            return tuple(range(len(args)))
        if self._numbers == (0,) and not self._names and args:  # the most common call
            return self._numbers
        places: tuple[int | str, ...] = (
            *(self._place_of_number(k, args, kwargs) for k in self._numbers),
            *(self._place_of_name(name, args, kwargs) for name in self._names),
        )
        if len(set(places)) != len(places):
            raise InputError(
                f"{self._choice} chooses an argument of {self.name} twice, at "
                f"{user_location()}. Choose each once."
            )
        return places

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What tells it from other selections for the same function."""
        return self.transform, self._every, self._numbers, self._names, self.single

    def of(self, trees: tuple[Any, ...]) -> Any:
        """Return one value per chosen argument, or the only one if it was chosen alone."""
        return trees[0] if self.single else trees

    def argument(self, place: int | str) -> Argument:
        """Return what messages call the argument at a place that `places` returned."""
        return Argument(self, place)

    @property
    def _choice(self) -> str:
        parts = [f"argnums={self._argnums!r}"] if self._numbers else []
        return " with ".join([*parts, *([f"argnames={self._argnames!r}"] if self._names else [])])

    def _place_of_number(self, k: int, args: Sequence[Any], kwargs: dict[str, Any]) -> int | str:
        count = len(args)
        if -count <= k < count:
            return k % count
        names = self._positional
        if 0 <= k < len(names) and names[k] in kwargs:
            return names[k]
        cure = "Give that argument, by position or by keyword, or choose another."
        if k < 0 and kwargs:
            cure = (
                "Negative numbers count the arguments given by position; those given by keyword "
                "are chosen with argnames=."
            )
        elif k >= 0 and kwargs:
            cure = "Give the argument by position, or choose one given by keyword with argnames=."
        raise InputError(
            f"argnums={self._argnums} is out of range: {self.name} was called with {count} "
            f"positional argument{'s' * (count != 1)}, at {user_location()}. {cure}"
        )

    def _place_of_name(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> int | str:
        if name in kwargs:
            return name
        if self._parameters is None:
            raise InputError(
                f"argnames={self._argnames!r}: the parameters of {self.name} are not known to "
                f"Python, at {user_location()}. Give {name} by keyword, or use argnums=."
            )
        if name in self._positional and self._positional.index(name) < len(args):
            return self._positional.index(name)
        raise InputError(
            f"argnames={self._argnames!r}: {name} was not given in the call of {self.name}, at "
            f"{user_location()}. Give it, as {name}=...; its default is not differentiated."
        )

    @computed
    def _parameters(self) -> dict[str, inspect.Parameter] | None:
        """The parameters of the function by name, or None if Python cannot tell them."""
        try:
            return dict(inspect.signature(self._function).parameters)
        except (TypeError, ValueError):  # some functions written in C
            return None

    @computed
    def _positional(self) -> list[str]:
        parameters = (self._parameters or {}).values()
        return [p.name for p in parameters if p.kind in _POSITIONAL]

    def _refuse_unknown(self, name: str) -> None:
        parameters = self._parameters
        if parameters is None:
            return
        kinds = {p.kind for p in parameters.values()}
        known = [p.name for p in parameters.values() if p.kind is not p.VAR_POSITIONAL]
        if name in known or inspect.Parameter.VAR_KEYWORD in kinds:
            return
        cure = suggestion(name, known, f"It has {', '.join(known) or 'none'}.")
        raise InputError(
            f"argnames={self._argnames!r}: {self.name} has no parameter {name!r}, at "
            f"{user_location()}. {cure}"
        )


class Argument:
    """How messages call an argument: by its name if it has one, found when it is shown."""

    __slots__ = ("_place", "_selection")

    def __init__(self, selection: Selection, place: int | str) -> None:
        self._selection = selection
        self._place = place

    def __str__(self) -> str:
        place, names = self._place, self._selection._positional
        if isinstance(place, int) and place < len(names):
            return f"argument {names[place]}"
        return f"argument {place}"


def is_single(argnums: Argnums | None, argnames: Argnames | None) -> bool:
    """Whether one argument is chosen without a tuple."""
    if argnames is None:
        return argnums is None or is_int(argnums)
    return argnums is None and isinstance(argnames, str)


def _numbers(argnums: Argnums) -> tuple[int, ...]:
    given = ints_of(argnums) if isinstance(argnums, Sequence) or is_int(argnums) else None
    if given is None:
        cure = "The point is given to what the transform returns, as in fd.grad(f)(x)."
        if isinstance(argnums, Sequence) and any(isinstance(k, str) for k in argnums):
            cure = "Names of parameters go into argnames=."
        raise InputError(
            f"argnums must be an int or a tuple of ints, got {argnums!r}, at {user_location()}. "
            f"{cure}"
        )
    return given


def _names(argnames: Argnames) -> tuple[str, ...]:
    names = names_of(argnames) if isinstance(argnames, Sequence) else None
    if names is None:
        raise InputError(
            f"argnames must be a str or a tuple of strs, got {argnames!r}, at {user_location()}. "
            "Numbers of arguments go into argnums=."
        )
    return names


# ---- differentiated arguments: taken apart, and rebuilt ------------------------------------------


class Inputs(NamedTuple):
    """The differentiated arguments of a call, taken apart."""

    operands: list[Any]  # values of the floating and complex leaves
    structures: tuple[pytree.Structure, ...]  # one per differentiated argument
    numeric: tuple[bool, ...]  # for each leaf of all arguments: whether it is differentiated
    others: list[Any]  # leaves that are not
    weak: tuple[bool, ...]  # for each operand: whether it came as a Python number

    def rebuild(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Put one value per operand back into containers like the arguments."""
        if self.numeric == (True,) and self.structures == (pytree.LEAF,):  # the most common call
            return (values[0],)
        numbers, rest = iter(values), iter(self.others)
        leaves = iter([next(numbers) if flag else next(rest) for flag in self.numeric])
        return tuple(
            pytree.unflatten(s, [next(leaves) for _ in range(s.leaf_count)])
            for s in self.structures
        )


def inputs_of(arguments: Sequence[Any], names: Callable[[int], object]) -> Inputs:
    """Take differentiated arguments apart; integer leaves are errors, strings pass through.

    ``names(k)`` is what messages call an argument, shown only if there is one.
    """
    if len(arguments) == 1 and type(arguments[0]) is np.ndarray:  # the most common call
        x = operand(arguments[0])
        if x.dtype.kind not in "fc":
            x = differentiable_operand(x, pytree.LEAF, 0, names(0))  # which raises
        return Inputs([x], (pytree.LEAF,), (True,), [], (False,))
    operands: list[Any] = []
    weak: list[bool] = []
    structures, numeric, others = [], [], []
    for position, argument in enumerate(arguments):
        leaves, structure = pytree.flatten(argument)
        structures.append(structure)
        for k, leaf in enumerate(leaves):
            flag = is_numeric(leaf)
            numeric.append(flag)
            if flag:
                operands.append(differentiable_operand(leaf, structure, k, names(position)))
                weak.append(is_weak(leaf))
            else:
                _refuse_hidden_numbers(leaf, structure, k, names(position))
                others.append(leaf)
    if not operands:
        _refuse_settings(arguments, structures, names)
    return Inputs(operands, tuple(structures), tuple(numeric), others, tuple(weak))


def _refuse_settings(
    arguments: Sequence[Any], structures: Sequence[pytree.Structure], names: Callable[[int], object]
) -> None:
    """Refuse to differentiate by what is no container of numbers: None, text, flags, functions."""
    for k, (argument, structure) in enumerate(zip(arguments, structures, strict=True)):
        if argument is None or structure is pytree.LEAF:
            shown = shorten(repr(argument), 40, placeholder=" ...")
            raise InputError(
                f"{names(k)} is {shown}, by which nothing can be differentiated, at "
                f"{user_location()}. Give a float or an array of floats in its place, or choose "
                "another argument with argnums=."
            )


def _refuse_hidden_numbers(
    leaf: Any, structure: pytree.Structure, k: int, argument: object
) -> None:
    """Refuse what would pass through undifferentiated although it may hold arrays."""
    fault = fault_of(leaf, alone=structure is pytree.LEAF)
    if fault is not None:
        raise InputError(
            f"{argument}{pytree.paths(structure)[k]} {fault.problem}, at {user_location()}. "
            f"{fault.cure}"
        )


def like_inputs(values: Sequence[Any], inputs: Inputs) -> list[Any]:
    """Return 0-d derivatives by 0-d arrays as 0-d arrays, as they came."""
    return [
        (views.as_array(v) if isinstance(v, Tracer) else np.asarray(v))
        if not x.shape and is_array_without_axes(x)
        else v
        for v, x in zip(values, inputs.operands, strict=True)
    ]
