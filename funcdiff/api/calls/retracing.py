"""Finds a place in the code of a function by tracing it again, with source lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, Protocol, TypeAlias

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.core.evaluate import is_repeatable
from funcdiff.core.origins import Place, Reader, reader
from funcdiff.core.policy import Policy
from funcdiff.core.primitive import Operation
from funcdiff.core.recording import Recording
from funcdiff.core.types import ArrayType
from funcdiff.errors import is_raised_by_user

Finder: TypeAlias = Callable[[Builder, Recording], Place | None]
"""Finds a place in what was recorded with lines."""


class Locate(Protocol):
    """Traces a function again to find a place in it."""

    def __call__(
        self, find: Finder | None = None, operands: Sequence[Any] | None = None, /
    ) -> Place | None:
        """Return the place that `find` finds; by default the one that fails to run.

        `operands` are values to run it with, if they are not those of which it was traced.
        """


def nowhere(*_how: object) -> None:
    """Return no place: of a trace that is kept without its function."""


def place_in(
    builder: Builder,
    recording: Recording,
    repeat_call: Callable[[Builder, Sequence[Any] | None], Recording],
    find: Finder | None = None,
    operands: Sequence[Any] | None = None,
) -> Place | None:
    """Return a place in traced code, if it may be traced again; see `Trace.locate`."""
    operations = [x[0] for x in recording[0] if x and isinstance(x[0], Operation)]
    if any(call.is_opaque for call in builder.rule_calls or ()) or not is_repeatable(operations):
        return None

    def locate() -> Place | None:
        reader.set(Reader())
        with Builder(builder.name, Policy(eager=True)) as again:
            found = repeat_call(again, operands)
            if find is not None:
                return find(again, found)
            return again.values.first_failure(again)

    try:
        return copy_context().run(locate)
    except Exception as error:
        if not (builder.rule_calls or is_raised_by_user(error)):
            raise
    return None  # what runs on values, or again, may fail in its own way


def first_examples(operands: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """Return values for inputs of these types: of a batch, the first one, None if it is empty."""
    pairs = zip(operands, types, strict=True)
    return [x if np.shape(x) == t.shape else x[0] if len(x) else None for x, t in pairs]
