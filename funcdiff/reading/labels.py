"""Labels: the user's name and line for a variable, as a reader sees them."""

from __future__ import annotations

import linecache
import os
from typing import Final, NamedTuple

from funcdiff.core.atoms import Var
from funcdiff.core.origins import Origin
from funcdiff.core.program import Program

_LONGEST: Final = 64
"""Characters of a line of the user's that a comment has."""


class Label(NamedTuple):
    """What is known of a variable.

    Attributes
    ----------
    name
        How the user calls it, or empty.
    place
        A comment that says where it comes from, or empty.
    """

    name: str = ""
    place: str = ""


def label_of(program: Program, v: Var) -> Label:
    """Return name and place of a variable of a program that was made to be read."""
    if program.origins is None:
        return Label()
    origin = program.origins[v.number]
    return Label(origin.name, _comment(origin))


def _comment(origin: Origin) -> str:
    """Return the line of the user's that makes something, or that it is the derivative of."""
    place = origin.place
    if place is None:
        return ""
    source = linecache.getline(place.file, place.line).strip()
    if origin.derived:
        where = f"derivative of line {place.line}"
    else:
        where = f"{os.path.basename(place.file)}:{place.line}"
    return f"{where}: {_shorten(source)}" if source else where


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 4]} ..."
