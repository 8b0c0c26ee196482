"""Labels of variables: names and lines as a reader sees them."""

from __future__ import annotations

import linecache
import os
from typing import Final, NamedTuple

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.origins import UNKNOWN, Origin, Place
from funcdiff.core.program import Program

_LONGEST: Final = 64
"""Characters of a line of the user's that a comment has."""


class Label(NamedTuple):
    """Name and origin of a variable, empty where they are not known."""

    name: str = ""
    place: str = ""  # a comment


def label_of(program: Program, v: Var) -> Label:
    """Return name and place of a variable of a program that was made to be read."""
    origin = origin_of(program, v)
    return Label(origin.name, comment(origin))


def origin_of(program: Program, atom: Atom) -> Origin:
    """Return where an atom comes from, as far as it is known."""
    if program.origins is None or isinstance(atom, Literal):
        return UNKNOWN
    return program.origins[atom.number]


def comment(origin: Origin) -> str:
    """Return the line of the user's that makes something, or that it is the derivative of."""
    place = origin.place
    if place is None:
        return ""
    source = source_of(place)
    if origin.derived:
        where = f"derivative of line {place.line}"
    else:
        where = f"{os.path.basename(place.file)}:{place.line}"
    return f"{where}: {_shorten(source)}" if source else where


def source_of(place: Place | None) -> str:
    """Return the text of a line, or nothing where it is not known."""
    return "" if place is None else linecache.getline(place.file, place.line).strip()


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 4]} ..."
