"""Functions of other libraries, of which derivatives are such functions again: `bridged`.

A parameter holds the name under which an operation was entered, never the operation.  Its rules
name further operations, those that push tangents forward, pull cotangents back, or take a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.ops.families import several
from funcdiff.ops.user.python_call import Entered, Name
from funcdiff.space import instantiate
from funcdiff.transforms.jvp import Mask, present, spread


class Bridge(Protocol):
    """An operation of which derivatives and batches are such operations again."""

    linear: int  # it is linear in so many of its last operands
    name: Name[Any] | None  # once it is entered

    def types(self, types: Types) -> Types:
        """Return the types of the results."""

    def run(self, *xs: Any) -> list[Any]:
        """Return the results."""

    def pushforward(self, active: Mask, wanted: Mask) -> Any:
        """Return ``(*xs, *ts) -> tangents`` of the wanted results."""

    def transpose(self) -> Any:
        """Return ``(*others, *cts) -> cotangents`` of the operands in which it is linear."""

    def batch(self, size: int, flags: Mask) -> Any:
        """Return the operation for so many examples."""


entered: Final[Entered[Bridge]] = Entered(
    "the bridged function", "Make it again with `use`, and trace the program in this process."
)
"""Bridged operations by name."""


class Bridged(Params):
    """A bridged operation."""

    name: str  # under which it was entered

    @property
    def has_effects(self) -> bool:
        """A bridged function has to be pure: other libraries' transformations call it at will."""
        return False


def parameters(operation: Bridge, name: str) -> Bridged:
    """Return the parameters of an operation, which is entered if it is new."""
    if operation.name is None:
        operation.name = entered.enter(name.partition(".")[0], operation)
    return Bridged(operation.name)


def _jvp(p: Bridged, xs: Tracers, ts: Tangents) -> Pushed:
    ys = bind(bridged_p, p, *xs)
    wanted = tuple(y.type.dtype.kind in "fc" for y in ys)
    if not any(wanted):
        return ys, [None for _ in ys]
    forward = entered[p.name].pushforward(tuple(t is not None for t in ts), wanted)
    return ys, spread(bind(bridged_p, parameters(forward, p.name), *xs, *present(ts)), wanted)


def _transpose(p: Bridged, types: Types, cts: Tangents, xs: Tangents) -> Tangents:
    operation = entered[p.name]
    first = len(xs) - operation.linear
    backward = operation.transpose()
    wanted = operation.types(types)
    given = [instantiate(ct, t) for ct, t in zip(cts, wanted, strict=True)]
    found = bind(bridged_p, parameters(backward, p.name), *present(xs[:first]), *given)
    pairs = zip(found, xs[first:], strict=True)
    return [*(None for _ in xs[:first]), *(ct if x is None else None for ct, x in pairs)]


def _batch(p: Bridged, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    wide = entered[p.name].batch(size, tuple(batched))
    return bind(bridged_p, parameters(wide, p.name), *xs)


bridged_p: Final = Primitive(
    "bridged", Bridged, lambda p, *types: entered[p.name].types(types),
    lambda p: several(lambda *xs: [y[()] for y in entered[p.name].run(*xs)]),
    _jvp, _transpose, _batch, facts=Facts(calls_user=True),
)  # fmt: skip


def call_bridged(operation: Bridge, name: str, xs: Tracers) -> Tracers:
    """Call a bridged operation."""
    return bind(bridged_p, parameters(operation, name), *xs)
