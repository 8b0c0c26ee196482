"""Functions that were not called: arithmetic with one says so, in place of naming our classes."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from funcdiff.errors import InputError, user_location

_BINARY: Final = (
    "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split()  # noqa: SIM905
)
_OPERATORS: Final = (
    *(f"__{prefix}{name}__" for name in _BINARY for prefix in ("", "r")),
    *(f"__{name}__" for name in ("neg", "pos", "abs", "float", "complex", "int", "round")),
    *(f"__{name}__" for name in ("lt", "le", "gt", "ge", "getitem", "array_ufunc")),
)
"""What numbers and arrays take part in; ``[k]`` is what unpacking asks for, too."""


class Uncalled:
    """A function that says, where a number or an array is needed, that it was not called."""

    def __getattr__(self, name: str) -> NoReturn:
        """Say what an attribute of arrays is missing for; of others, what Python says."""
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        raise AttributeError(_said(self, f"was asked for .{name}"), name=name, obj=self)


def _said(function: Any, used: str) -> str:
    return (
        f"{function!r} is a function, but {used}, at {user_location()}. Call it: "
        f"{function!r}(x) is its result."
    )


def _refuse(self: Uncalled, *_args: Any, **_kwargs: Any) -> NoReturn:
    """Refuse to take part."""
    raise InputError(_said(self, "was used as a number or an array"))


for _name in _OPERATORS:  # not seen by type checkers, which refuse operators that are not there
    setattr(Uncalled, _name, _refuse)
