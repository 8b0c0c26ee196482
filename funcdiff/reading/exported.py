"""Programs that run elsewhere: the text of one for a library of arrays, and a call of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args

from funcdiff.api.calls.naming import display_name
from funcdiff.core.late import late_import
from funcdiff.errors import InputError, user_location
from funcdiff.reading.examining import Examined
from funcdiff.reading.interfaces import interface
from funcdiff.reading.text.module import module
from funcdiff.reading.text.writer import Dialect

Target: TypeAlias = Literal["cupy", "jax", "numpy", "torch"]

TARGETS: Final[tuple[Target, ...]] = get_args(Target)


@dataclass(frozen=True, eq=False)
class Exported:
    """A function of another library's arrays, as a text and ready to be called.

    A call runs the text, with the arrays that the function closes over, unless others are given
    by keyword.  It takes arrays of the shapes that it was made for.  Attributes are read-only, and
    it can be pickled.

    Attributes
    ----------
    source
        The text of the module, which runs without funcdiff.
    target
        The library: "cupy", "jax", "numpy" or "torch".
    name
        Of the function in the module.
    captured
        The arrays that the text does not hold, by the keyword by which its function takes them.
    """

    source: str
    target: Target
    name: str
    captured: Mapping[str, Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result, in the library's arrays."""
        return _function(self.source, self.name)(*args, **{**self.captured, **kwargs})

    def __repr__(self) -> str:
        return f"<{self.name} for {self.target}: {self.source.count(chr(10))} lines in .source>"


@lru_cache(maxsize=256)
def _function(source: str, name: str) -> Callable[..., Any]:
    """Return the function of a module; the library is imported here, if it is not yet."""
    scope: dict[str, Any] = {"__name__": f"funcdiff_export_{name}"}
    exec(compile(source, f"<funcdiff export of {name}>", "exec"), scope)
    function: Callable[..., Any] = scope[name]
    return function


def export_call(
    f: Callable[..., Any], target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exported:
    """Return a call of a function, written for a library."""
    dialect: Dialect = late_import(f"funcdiff.reading.export.{target}").DIALECT
    examined = Examined.of(f, args, kwargs)
    written = interface(f, examined, args, kwargs, dialect)
    return Exported(
        module(examined.program, written, dialect), target, written.name, written.captured
    )


def check_target(f: Callable[..., Any], target: str) -> None:
    """Refuse what is no target."""
    if target not in TARGETS:
        raise InputError(
            f"export({display_name(f)}) got the target {target!r} at {user_location()}. Give "
            f"one of {', '.join(map(repr, TARGETS))}."
        )
