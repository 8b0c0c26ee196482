"""Named intermediate values: `tap`, the identity, which gives a value in a program a name.

Derivatives go through it as if it were not there, so in a derived program it names the value.
"""

from __future__ import annotations

from typing import Final

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Facts, Params, Pushed, Tangents, Tracers
from funcdiff.core.tracer import Tracer
from funcdiff.ops.families import linear


class Tap(Params):
    """The name, and which of the leaves of the container that has it."""

    name: str
    leaf: int


def _tap_jvp(p: Tap, xs: Tracers, ts: Tangents) -> Pushed:
    return [tap(xs[0], p)], ts


tap_p: Final = linear(
    "tap",
    Tap,
    abstract=lambda _p, x: (x,),
    impl=lambda _p: lambda x: x,
    transpose=lambda _p, _types, cts, _xs: cts,
    jvp=_tap_jvp,
    facts=Facts(view=True, diagonal=True),
)


def tap(x: Tracer, p: Tap) -> Tracer:
    """Return `x`, named."""
    return bind(tap_p, p, x)[0]
