"""Patterns whose name is the call itself."""

from __future__ import annotations

from typing import Any

from tests.patterns.pattern import Argument, Pattern, pattern

NAMES = ("x", "y", "z", "w")


def call(text: str, *arguments: Argument, **options: Any) -> Pattern:
    """Return the pattern that evaluates a text, in which the arguments are `x`, `y`, `z`, `w`.

    ``call("np.sum(x, axis=0)", real(3, 4))``.
    """
    names = ", ".join(NAMES[: len(arguments)])
    return pattern(text, eval(f"lambda np, {names}: {text}"), *arguments, **options)
