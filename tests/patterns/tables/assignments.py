"""Writing into arrays, and the methods of ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.patterns.pattern import Argument, Pattern, flags, integers, pattern, positive, real
from tests.patterns.tables.calls import NAMES, call


def writing(text: str, *arguments: Argument, **options: Any) -> Pattern:
    """Return the pattern that runs a statement on a copy of `x`, and returns the copy.

    ``writing("x[1:] = y", real(3), real(2))``.
    """
    names = ", ".join(NAMES[: len(arguments)])
    scope: dict[str, Callable[..., Any]] = {}
    exec(f"def f(np, {names}):\n    x = x * 1.0\n    {text}\n    return x", scope)
    return pattern(text, scope["f"], *arguments, **options)


M, V = real(3, 4), real(4)
ACCUMULATED = (
    "add", "multiply", "subtract", "divide", "maximum", "minimum", "fmax", "fmin", "logaddexp",
    "logaddexp2", "hypot",
)  # fmt: skip

PATTERNS: list[Pattern] = [
    writing("x[1] = y", M, V),
    writing("x[1:, ::2] = y", M, real(2)),
    writing("x[..., 0] = 2 * x[..., 1]", M),
    writing("x[[0, 2, 0]] = y", M, real(3, 4), large=()),
    writing("x[y] = z", M, flags(3, 4), real(1), large=()),
    writing("x[y] += 1.5", M, integers(2), large=()),
    writing("x += y", M, V),
    writing("x[0] *= y", M, V),
    writing("x **= 3", M),
    writing("x[::-1] -= x", real(5)),
    writing("x.flat = y", M, real(3, 4)),
    writing("x.put([0, 5, 7], y)", M, real(3), large=()),
    writing("np.put(x, [0, -2], y, mode='wrap')", M, real(2), large=()),
    writing("np.put(x, [0, 15], y, mode='clip')", M, real(2), large=()),
    writing("np.place(x, y, z)", M, flags(3, 4), real(3), large=()),
    writing("np.putmask(x, y, z)", M, flags(3, 4), real(3, 4)),
    writing("np.copyto(x, y)", M, V),
    writing("np.copyto(x, y, where=z, casting='same_kind')", M, V, flags(3, 4)),
    writing("np.fill_diagonal(x, y)", real(4, 4), V),
    writing("np.fill_diagonal(x, y, wrap=True)", real(7, 3), real(3), large=()),
    writing("np.put_along_axis(x, y, z, axis=1)", M, integers(3, 1), real(3, 1)),
    writing("x.fill(y[0])", M, V),
    writing("x.sort(axis=0)", M),
    writing("x.partition(1, axis=1)", real(3, 4), large=()),
    *(
        writing(f"np.{name}.at(x, y, z)", real(5), integers(7), real(7))
        for name in ("add", "subtract")
    ),
    *(
        writing(f"np.{name}.at(x, y, z)", positive(5), integers(7), positive(7), large=())
        for name in ("multiply", "divide")
    ),
    writing("np.maximum.at(x, y, z)", real(5), integers(7), real(7), large=()),
    writing("np.negative.at(x, [0, 2])", real(5), large=()),
    writing("np.add(y, y, out=x)", M, real(3, 4)),
    writing("np.multiply(y, 2.0, out=x, where=y > 0)", M, real(3, 4)),
    *(
        # of half precision NumPy rounds once per row, or once per element, as it walks
        call(f"np.{name}.reduce(x, axis=1)", positive(3, 4), large=(), exact=False)
        for name in ACCUMULATED
    ),
    *(call(f"np.{name}.accumulate(x, axis=1)", positive(3, 4), large=()) for name in ACCUMULATED),
    *(
        call(f"np.{name}.accumulate(x)", positive(30))
        for name in ("maximum", "minimum", "fmax", "fmin")
    ),
    *(
        call(f"np.{name}.reduceat(x, [0, 2, 1], axis=1)", positive(3, 4), exact=False)
        for name in ("add", "multiply", "maximum", "hypot")
    ),
    *(
        call(f"np.{name}.outer(x, y)", positive(3), positive(2), large=(positive(300),) * 2)
        for name in ("add", "subtract", "divide", "power", "maximum", "arctan2")
    ),
    call("np.hypot.reduce(x, axis=0, keepdims=True, initial=0.5, where=y)",
         positive(3, 4), flags(3, 4), large=()),
    call("np.add.reduce(x, axis=0, dtype='float64', initial=0.5, where=y)",
         real(3, 4), flags(3, 4), exact=False),
]  # fmt: skip
