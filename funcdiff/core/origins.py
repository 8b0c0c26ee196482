"""Origins of variables: names and source lines, noted only while a program is read.

An ordinary trace notes nothing and pays nothing.  While a `Reader` looks on, recordings note an
origin for every variable, programs keep them, and what walks a program hands them on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple, TypeAlias

from funcdiff.core.atoms import Entry
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import place_text, user_frame


class Place(NamedTuple):
    """A line of the user's."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return place_text(*self)


class Origin(NamedTuple):
    """Where a variable comes from."""

    name: str = ""  # the user's; tangent and cotangent of `y` are ``t_y`` and ``d_y``
    place: Place | None = None  # the line that makes it; None of an input
    derived: bool = False  # whether only the derivative of that line needs it

    def tangent(self) -> Origin:
        """Return the origin of the tangent of a variable."""
        return Origin(self.name and f"t_{self.name}", self.place, derived=True)

    def cotangent(self) -> Origin:
        """Return the origin of the cotangent of a variable, or of a tangent."""
        return Origin(self.name and f"d_{self.name.removeprefix('t_')}", self.place, derived=True)

    def merge(self, other: Origin) -> Origin:
        """Return the origin of what is found to be another variable, too.

        A value of the user's is not called a derivative.
        """
        if self is other:
            return self
        if self == UNKNOWN:
            return other
        if other == UNKNOWN:
            return self
        if self.derived == other.derived:
            return Origin(self.name or other.name, self.place or other.place, self.derived)
        return other if self.derived else self


Origins: TypeAlias = tuple[Origin, ...]
"""One for each variable of a program, or each entry of a recording."""

UNKNOWN: Final = Origin()


class Reader:
    """Looks on while functions are traced, and notes the lines that run."""

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], tuple[CodeType, Origin]] = {}

    def origin(self) -> Origin:
        """Return the origin of what the line of the user's that runs makes."""
        frame = user_frame()
        return UNKNOWN if frame is None else self._line(frame)

    def _line(self, frame: FrameType) -> Origin:
        """Return the origin of what a frame makes now: the same object for each instruction."""
        code = frame.f_code
        key = id(code), frame.f_lasti
        known = self._lines.get(key)
        if known is None:
            place = Place(code.co_filename, frame.f_lineno, code.co_name)
            known = self._lines[key] = code, Origin(place=place)  # the code: its id stays its own
        return known[1]

    def look_again(self) -> None:
        """Note names that were given since the last line that was recorded."""

    def note_trace(self, builder: Any, recording: Any, operands: Sequence[Any]) -> None:
        """Take note of a function that a builder has recorded at the values of these operands."""


reader: Final[ContextVar[Reader | None]] = ContextVar("funcdiff_reader", default=None)
"""Who looks on, if anybody does."""


class Word(NamedTuple):
    """The name of a local variable in the user's code."""

    depth: int  # how many frames deep it is: names further out say more
    is_part: bool  # whether the variable is a container that holds the value
    text: str  # the name, of a part with its path


class LocatedEntries(list[Entry]):
    """A recording in the making that notes where its entries come from."""

    def __init__(self, looking: Reader, *, of_user: bool) -> None:
        super().__init__()
        self.origins: list[Origin] = []  # one for each entry
        self.words: dict[int, Word] = {}  # by number: the user's name of the value
        self._reader = looking
        self._of_user = of_user

    def append(self, entry: Entry) -> None:
        """Add an entry: of an equation that is being copied, or of a line of the user's."""
        super().append(entry)
        into, origin = _copied.get()
        if entry and type(entry[0]) is ArrayType:
            origin = UNKNOWN
        elif self._of_user and into is not self:
            origin = self._reader.origin()
        self.origins.append(origin)

    def __delitem__(self, places: Any) -> None:
        super().__delitem__(places)
        del self.origins[places]

    def name_origins(self, captured: Mapping[int, Any]) -> Origins:
        """Return the origins; what is captured has its name from outside."""
        self._reader.look_again()
        for number, value in captured.items():
            self.origins[number] = self.origins[number].merge(origin_of(value))
        for number, word in self.words.items():
            _, place, derived = self.origins[number]
            self.origins[number] = Origin(word.text, place, derived)
        return tuple(self.origins)


_copied: Final[ContextVar[tuple[object, Origin]]] = ContextVar(
    "funcdiff_copied", default=(None, UNKNOWN)
)
"""Into which recording an equation is being copied, and where that equation comes from."""


class Copying:
    """A context in which what is recorded comes from where something else does."""

    __slots__ = ("_copied", "_token")

    def __init__(self, into: object, origin: Origin) -> None:
        self._copied = into, origin

    def __enter__(self) -> None:
        self._token = _copied.set(self._copied)

    def __exit__(self, *exception: object) -> None:
        _copied.reset(self._token)


def origin_of(x: Any) -> Origin:
    """Return where a traced value comes from, as far as it is known."""
    entries = getattr(getattr(x, "builder", None), "entries", None)
    if not isinstance(entries, LocatedEntries) or not isinstance(x.atom, int):
        return UNKNOWN
    word = entries.words.get(x.atom)
    found = entries.origins[x.atom]
    return found if word is None else found._replace(name=word.text)


def give_name(x: Any, text: str) -> None:
    """Call a traced value what the user says that it is called, if anybody reads it."""
    entries = getattr(getattr(x, "builder", None), "entries", None)
    if isinstance(entries, LocatedEntries) and isinstance(x.atom, int) and text.isidentifier():
        entries.words[x.atom] = Word(0, is_part=False, text=text)


def note(x: Any, origin: Origin) -> None:
    """Let a traced value come from where something else does, too."""
    entries = x.builder.entries if isinstance(x, Tracer) and x.builder is not None else None
    if isinstance(entries, LocatedEntries) and isinstance(x.atom, int):
        entries.origins[x.atom] = entries.origins[x.atom].merge(origin)
