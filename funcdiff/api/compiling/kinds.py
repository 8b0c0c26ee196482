"""Kinds of arguments, the keys of specialization: a compiled function is traced once for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import ints_of, is_numeric, names_of, refuse_foreign
from funcdiff.api.calls.inputs import is_array_without_axes, operand, type_of
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.border.promotion import is_weak
from funcdiff.numpy.memory import views
from funcdiff.pytree.registry import ContainerError, kinds
from funcdiff.pytree.statics import static_key

_DEEPEST: Final = 8
"""Levels of nesting of arguments that are told apart without their structures."""


class Kind(NamedTuple):
    """A call taken apart: the key of its program, and the numbers that are its operands."""

    key: tuple[Any, ...]
    operands: list[Any]


def layout_of(x: Any) -> tuple[int, ...] | None:
    """Return what tells apart how arguments of one type lie in memory, None if it is not known."""
    known = views.layout(x, settle=True) if isinstance(x, Tracer) else x
    return None if known is None else known.strides


class Statics:
    """The parameters of a function whose values are part of the kind, given as to `jit`."""

    def __init__(
        self,
        f: Callable[..., Any],
        static_argnums: int | Sequence[int],
        static_argnames: str | Sequence[str],
    ) -> None:
        self._function = f
        given, names = ints_of(static_argnums), names_of(static_argnames)
        if given is None or names is None:
            raise InputError(
                f"jit: static_argnums={static_argnums!r} must be an int or ints, and "
                f"static_argnames={static_argnames!r} a str or strs, at {user_location()}. Numbers "
                "of parameters go into the one, names into the other."
            )
        self._numbers, self._names = self._both(given, names)

    def _both(
        self, numbers: tuple[int, ...], names: tuple[str, ...]
    ) -> tuple[frozenset[int], frozenset[str]]:
        """Let a parameter that is static by name or number be static however it is given."""
        try:
            parameters = list(inspect.signature(self._function).parameters)
        except (TypeError, ValueError):  # a built-in without a signature
            return frozenset(numbers), frozenset(names)
        unknown = [n for n in names if n not in parameters]
        outside = [k for k in numbers if not -len(parameters) <= k < len(parameters)]
        variadic = any(
            p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
            for p in inspect.signature(self._function).parameters.values()
        )
        if (unknown or outside) and not variadic:
            raise InputError(
                f"jit: {FunctionName(self._function)} has the parameters {', '.join(parameters)}, "
                f"but static ones were named {', '.join(map(str, [*unknown, *outside]))}, at "
                f"{user_location()}. static_argnums= counts from 0, static_argnames= has names."
            )
        positions = {k % len(parameters) for k in numbers if parameters} if not outside else {
            k for k in numbers if k >= 0
        }  # fmt: skip
        positions |= {parameters.index(n) for n in names if n in parameters}
        return frozenset(positions), frozenset(names) | {
            parameters[k] for k in positions if k < len(parameters)
        }

    def __bool__(self) -> bool:
        return bool(self._numbers or self._names)

    def dynamic(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call without the static ones."""
        positional = tuple(None if k in self._numbers else x for k, x in enumerate(args))
        return positional, {k: x for k, x in kwargs.items() if k not in self._names}

    def complete(
        self, dynamic: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return what `dynamic` gave, or stands for that, with the static arguments of a call."""
        positional, named = dynamic
        given = [args[k] if k in self._numbers else x for k, x in enumerate(positional)]
        return given, {**named, **{k: kwargs[k] for k in self._names & kwargs.keys()}}

    def kind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Kind:
        """Take a call apart."""
        static = tuple(x for k, x in enumerate(args) if k in self._numbers)
        static += tuple((k, kwargs[k]) for k in sorted(self._names & kwargs.keys()))
        leaves, structure = pytree.flatten(self.dynamic(args, kwargs))
        operands, statics = [], []
        types: list[tuple[ArrayType, bool, bool] | None] = []
        for leaf in leaves:
            if is_numeric(leaf):
                x = operand(leaf)
                operands.append(x)
                types.append((type_of(x), is_weak(leaf), is_array_without_axes(leaf)))
            else:
                refuse_foreign(leaf, "jit", self._function)
                statics.append(leaf)
                types.append(None)
        outside = current_builder()
        pending = outside.policy.pending if outside is not None else 0  # how deep rules are traced
        observed = outside is not None and outside.taps is not None
        try:
            fixed = (*map(static_key, statics), static_key(static))
        except TypeError as error:
            self._refuse_traced(args, kwargs)
            raise InputError(
                f"jit: a static argument of {FunctionName(self._function)} is not hashable "
                f"({error}), at {user_location()}. Give a tuple, or leave it out of static_argnums."
            ) from error
        return Kind((structure, tuple(types), *fixed, pending, observed), operands)

    def _refuse_traced(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Refuse a static argument that is differentiated, batched or otherwise traced."""
        given = [(k, x) for k, x in enumerate(args) if k in self._numbers]
        for place, value in (*given, *((k, kwargs[k]) for k in self._names & kwargs.keys())):
            if any(isinstance(x, Tracer) for x in pytree.flatten(value)[0]):
                raise InputError(
                    f"jit: argument {place} of {FunctionName(self._function)} is static, but a "
                    f"derivative or another transform traces it, at {user_location()}. Leave it "
                    "out of static_argnums and static_argnames, or choose another argument with "
                    "argnums=."
                )

    def is_plain(self, leaves: Sequence[Any]) -> bool:
        """Whether the signature of a call with these numbers is the whole key of it."""
        return not self and all(
            type(x) in (float, np.float64) or (type(x) is np.ndarray and x.dtype.isnative)
            for x in leaves
        )


def signature_of_call(
    args: Sequence[Any], kwargs: dict[str, Any], leaves: list[Any]
) -> tuple[Any, ...] | None:
    """Return what tells calls apart, and append their numbers to `leaves`; None if it is unknown.

    It is quicker than a `Kind`, and enough where all leaves are plain.
    """
    signature = signature_of(args, leaves)
    if not kwargs or signature is None:
        return signature
    named = signature_of(kwargs.values(), leaves)
    return None if named is None else (*signature, tuple(kwargs), *named)


def signature_of(trees: Iterable[Any], leaves: list[Any], depth: int = 0) -> tuple[Any, ...] | None:
    """Return the containers of some trees, shapes and dtypes of arrays, and types of the rest.

    The leaves are appended to `leaves`.  None if a container has more to it than its class and
    some names, or is too deep.
    """
    parts: list[Any] = []
    for x in trees:
        cls = type(x)
        if cls is np.ndarray:
            leaves.append(x)
            parts.append((x.shape, x.dtype))
            continue
        kind = None if cls is float else kinds[cls]
        if kind is None:
            leaves.append(x)
            parts.append(cls)
            continue
        if cls is tuple and depth < _DEEPEST:
            inner = signature_of(x, leaves, depth + 1)
            if inner is None:
                return None
            parts.append((tuple, None, inner))
            continue
        try:
            children, aux = kind.to_children(x)
        except ContainerError:
            return None
        named = aux is None or (type(aux) is tuple and {*map(type, aux)} <= {str})
        inner = signature_of(children, leaves, depth + 1) if named and depth < _DEEPEST else None
        if inner is None:
            return None
        parts.append((cls, aux, inner))
    return tuple(parts)
