"""Labels: the user's name and line for each variable of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

Path: TypeAlias = tuple[int, ...]
"""Where a program is: empty for the outermost; then, for each level, the number of the equation
whose parameters hold it, and which of the programs there it is."""


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


Labels: TypeAlias = Mapping[tuple[Path, int], Label]
"""By program and number of the variable."""
