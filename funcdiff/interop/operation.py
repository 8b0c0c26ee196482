"""Operations of any library: all their derivatives and batches are operations again.

An `Operation` is a function of arrays in the library that it is written in, its home, and what its
home knows of derivatives: a `Calculus`.  Where it is used, its host, asks for the operations that
push tangents forward and pull cotangents back.  These two are each other's transpose; both are
functions of the home again, which differentiates and batches them like any other.  Hosts see types
and NumPy arrays, and need no more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import compress
from typing import Any, Protocol, TypeAlias

import numpy as np

from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError, OutputError
from funcdiff.transforms.jvp import Mask

Function: TypeAlias = Callable[..., Sequence[Any]]
"""Of arrays, which returns a list or tuple of arrays."""
Types: TypeAlias = tuple[ArrayType, ...]


class Calculus(Protocol):
    """What a library knows of functions of its arrays."""

    def dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the dtype in which it has arrays of this one of NumPy's."""

    def is_array(self, leaf: Any) -> bool:
        """Return whether a leaf of a result is an array, or a number."""

    def run(self, f: Function, xs: Sequence[Any]) -> Sequence[Any]:
        """Return the results, as NumPy arrays, for arrays of NumPy's."""

    def types(self, f: Function, types: Types) -> Types:
        """Return the types of the results."""

    def push(self, f: Function, xs: Sequence[Any], ts: Sequence[Any]) -> Sequence[Any]:
        """Return the tangents of all results: the Jacobian times these tangents."""

    def pull(self, f: Function, xs: Sequence[Any], cts: Sequence[Any]) -> Sequence[Any]:
        """Return the cotangents of all arguments: the transposed Jacobian, not conjugated."""

    def batch(self, f: Function, size: int, flags: Mask, xs: Sequence[Any]) -> Sequence[Any]:
        """Return the results for `size` examples, which are along the first axes of some `xs`."""


class Operation:
    """A function of arrays, made of `f`, which is linear in the last `linear` of its arguments.

    Derivatives are made once: hosts may compare operations, which are the same only if identical.
    """

    def __init__(
        self,
        f: Function,
        calculus: Calculus,
        linear: int = 0,
        types: Callable[[Types], Types] | None = None,
    ) -> None:
        self.function = f
        self.calculus = calculus
        self.linear = linear
        self.count = 0  # of its results, known of derivatives
        self.name: Any = None  # where it is an operation of funcdiff
        self._types_of = types or partial(calculus.types, f)
        self._made: dict[Hashable, Operation] = {}
        self._types: dict[Types, Types] = {}

    # ---- values ----------------------------------------------------------------------------------

    def types(self, types: Types) -> Types:
        """Return the types of the results for arguments of these types."""
        found = self._types.get(types)
        if found is None:
            found = self._types[types] = self._types_of(types)
        return found

    def run(self, *xs: Any) -> list[Any]:
        """Return the results for NumPy arrays; they have the types that they had before."""
        ys = [np.asarray(y) for y in self.calculus.run(self.function, xs)]
        found = tuple(ArrayType(y.shape, y.dtype) for y in ys)
        wanted = self._note_types(tuple(ArrayType(x.shape, x.dtype) for x in xs), found)
        if found != wanted:
            raise OutputError(
                f"a bridged function returned {_text(found)} where it had returned, or declared, "
                f"{_text(wanted)} for arguments of these types. It must return the same shapes "
                "and dtypes for the same shapes and dtypes."
            )
        return ys

    def run_by(self, f: Function) -> Operation:
        """Return the operation without its derivatives, computed by another function."""
        other = Operation(f, self.calculus, types=self.types)
        other._types = self._types
        return other

    def _note_types(self, given: Types, found: Types) -> Types:
        """Return the types of results that there were before, else note these."""
        return self._types.setdefault(given, found)

    # ---- derivatives -----------------------------------------------------------------------------

    def pushforward(self, active: Mask, wanted: Mask) -> Operation:
        """Return ``(*xs, *ts) -> tangents``, linear in the tangents.

        The arguments that are `active` have a tangent; of the results, those `wanted` get one.
        """
        key = "pushforward", active, wanted
        return self._once(key, lambda: _Derivative(self, active, wanted, pulls=False))

    def pullback(self, active: Mask, wanted: Mask) -> Operation:
        """Return ``(*xs, *cts) -> cotangents``, linear in the cotangents: the transpose.

        The results that are `wanted` have a cotangent; of the arguments, those `active` get one.
        """
        key = "pullback", active, wanted
        return self._once(key, lambda: _Derivative(self, active, wanted, pulls=True))

    def transpose(self) -> Operation:
        """Return the transpose of a derivative: ``(*others, *cts) -> cotangents``."""
        raise NotDifferentiableError(
            "a bridged function cannot be transposed: only its derivatives are known to be linear. "
            "Transpose fd.linear_transpose(f) or a derivative instead."
        )

    def batch(self, size: int, flags: Mask, kept: Mask | None = None) -> Operation:
        """Return the operation for `size` examples.

        Arguments have the axis of the examples in front if flagged.  Results that are `kept`, by
        default all, do, too, and the others are summed over the examples.
        """
        return self._once((size, flags, kept), lambda: _Batch(self, size, flags, kept))

    @property
    def is_users(self) -> bool:
        """Whether a function of the user's is called as it is."""
        return type(self) is Operation

    def _once(self, key: Hashable, make: Callable[[], Operation]) -> Operation:
        return self._made.get(key) or self._made.setdefault(key, make())


class _Derivative(Operation):
    """What pushes tangents of an operation forward, or pulls cotangents back."""

    def __init__(self, of: Operation, active: Mask, wanted: Mask, *, pulls: bool) -> None:
        calculus, f, count = of.calculus, of.function, len(active)
        move = calculus.pull if pulls else calculus.push

        def run(*args: Any) -> Sequence[Any]:
            xs = args[:count]

            def moving_only(*moving: Any) -> list[Any]:
                rest = iter(moving)
                given = [next(rest) if on else x for x, on in zip(xs, active, strict=True)]
                return list(compress(f(*given), wanted))

            return move(moving_only, list(compress(xs, active)), args[count:])

        def types(given: Types) -> Types:
            xs = given[:count]
            return tuple(compress(xs, active) if pulls else compress(of.types(xs), wanted))

        super().__init__(run, calculus, sum(wanted if pulls else active), types)
        self.count = sum(active if pulls else wanted)  # of its results
        self._of, self._active, self._wanted, self._pulls = of, active, wanted, pulls

    def transpose(self) -> Operation:
        other = self._of.pushforward if self._pulls else self._of.pullback
        return other(self._active, self._wanted)


class _Batch(Operation):
    """An operation on a batch: its derivatives are batches of the derivatives of one example."""

    def __init__(self, of: Operation, size: int, flags: Mask, kept: Mask | None) -> None:
        calculus = of.calculus

        def f(*xs: Any) -> list[Any]:
            ys = calculus.batch(of.function, size, flags, xs)
            return [y if on else y.sum(0) for y, on in zip(ys, kept or _all(ys), strict=True)]

        def types(given: Types) -> Types:
            ys = of.types(_of_one(given, flags))
            wide = zip(ys, kept or _all(ys), strict=True)
            return tuple(t.with_shape((size, *t.shape)) if on else t for t, on in wide)

        super().__init__(f, calculus, of.linear, types)
        self.count = of.count
        self._of, self._size, self._flags, self._kept = of, size, flags, kept

    def _note_types(self, given: Types, found: Types) -> Types:
        kept = self._kept or _all(found)
        self._of._note_types(_of_one(given, self._flags), _of_one(found, kept))
        return super()._note_types(given, found)

    def pushforward(self, active: Mask, wanted: Mask) -> Operation:
        flags = (*self._flags, *compress(self._flags, active))
        one = self._of.pushforward(active, wanted)
        return one.batch(self._size, flags, tuple(compress(self._kept or wanted, wanted)))

    def pullback(self, active: Mask, wanted: Mask) -> Operation:
        flags = (*self._flags, *compress(self._kept or wanted, wanted))
        one = self._of.pullback(active, wanted)
        return one.batch(self._size, flags, tuple(compress(self._flags, active)))

    def transpose(self) -> Operation:
        others = len(self._flags) - self.linear
        flags, linear = self._flags[:others], self._flags[others:]
        kept = self._kept or (True,) * self.count
        return self._of.transpose().batch(self._size, (*flags, *kept), linear)


def _of_one(types: Types, flags: Mask) -> Types:
    """Return the types for one example, where those flagged have the axis of all in front."""
    pairs = zip(types, flags, strict=True)
    return tuple(t.with_shape(t.shape[1:]) if on else t for t, on in pairs)


def _all(ys: Sequence[Any]) -> Mask:
    return (True,) * len(ys)


def _text(types: Types) -> str:
    return ", ".join(map(str, types)) or "nothing"
