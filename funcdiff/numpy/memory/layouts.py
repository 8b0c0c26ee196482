"""Memory layouts: whether the value of a variable has the strides that NumPy's array has.

An equation is evaluated by NumPy itself, which lays the result out as it does in the user's code.
But an identity in our programs may be a copy in another order there, or written over an array that
has a layout: of these a note is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.builder import current_builder
from funcdiff.core.primitive import Primitive
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import maker
from funcdiff.errors import ConcreteValueError
from funcdiff.numpy.memory.regions import NDArray
from funcdiff.ops.axes.indexing import gather_p, scatter_add_p, scatter_p
from funcdiff.ops.products.contract import contract_p
from funcdiff.ops.structure.structural import (
    concatenate_p,
    permute_p,
    reshape_p,
    reverse_p,
    select_p,
)

Noted: TypeAlias = Callable[[Any, ArrayType], "NDArray | None"]
"""Returns an array laid out as a note has it, None if that is not known."""


def note_layout(x: Tracer, note: Any) -> None:
    """Note that NumPy's array has that layout from now on, whatever that of our value."""
    builder = x.builder or current_builder()  # a literal is of no builder
    if builder is not None:
        builder.layouts.append((x.atom, len(builder.entries), note))


_LAID_OUT_OTHERWISE: Final[tuple[Primitive[Any], ...]] = (
    gather_p, scatter_add_p, scatter_p, concatenate_p, select_p, contract_p, permute_p, reverse_p,
    reshape_p,
)  # fmt: skip
"""Operations of which NumPy functions are made that may lay their result out in another way."""


def layout_of_value(x: Tracer, noted: Noted) -> NDArray | None:
    """Return an array laid out as the value, None if NumPy's may lie in another way.

    `noted` gives the layouts of which there is a note (see `note_layout`).
    """
    if x.type.size < 2:  # which lies in memory in one way
        return np.empty(x.shape, x.dtype)
    if x.builder is None:
        return None if _literals_differ(noted) else np.empty(x.shape, x.dtype)
    head = maker(x)
    if head is not None and head.primitive in _LAID_OUT_OTHERWISE:
        return None
    try:
        with np.errstate(all="ignore"):
            value = np.empty_like(x.builder.value(x.atom))
            if value.shape != x.shape:  # that of a whole batch
                return None
            return value if _lies_as_numpys(x.builder, x.atom, noted) else None
    except ConcreteValueError:
        return None


def _literals_differ(noted: Noted) -> bool:
    """Whether any constant array may lie otherwise than in C order: it may have become another."""
    builder = current_builder()
    return builder is not None and any(
        _differs(np.empty(atom.type.shape, atom.type.dtype), note, noted)
        for atom, _, note in builder.layouts
        if isinstance(atom, Literal)
    )


def _lies_as_numpys(builder: Recorder, atom: Ref, noted: Noted) -> bool:
    """Return whether our values of all that an array is computed from lie in memory as NumPy's.

    Of a copy in another order, and of what is written over an array, they do not.
    """
    pending: list[tuple[Recorder, Ref]] = [(builder, atom)]
    seen = set(pending)
    notes: dict[Recorder, dict[Ref, list[tuple[int, Any]]]] = {}
    while pending:
        here, number = pending.pop()
        for there, operand in _operands(here, number):
            now = number if there is here and isinstance(number, int) else len(there.entries)
            if there not in notes:
                notes[there] = defaultdict(list)
                for noted_atom, time, note in there.layouts:
                    notes[there][noted_atom].append((time, note))
            known = [note for time, note in notes[there].get(operand, ()) if time <= now]
            if any(_differs(there.value(operand), note, noted) for note in known):
                return False
            if (there, operand) not in seen:
                seen.add((there, operand))
                pending.append((there, operand))
    return True


def _operands(builder: Recorder, number: Ref) -> list[tuple[Recorder, Ref]]:
    """Return what a variable is computed from, or stands for, with the builder of each."""
    if isinstance(number, Literal):
        return []
    origin = builder.origin(number)
    if origin is not None:
        return [(builder, ref) for ref in origin[1]]
    x = builder.capture_of(number)
    return [(x.builder or builder, x.atom)] if isinstance(x, Tracer) else []


def _differs(value: NDArray, note: Any, noted: Noted) -> bool:
    """Whether a value lies otherwise in memory than NumPy's array, or that is not known."""
    model = noted(note, ArrayType(value.shape, value.dtype))
    if model is None or model.shape != value.shape:
        return True
    pairs = zip(value.shape, value.strides, model.strides, strict=True)
    return value.size > 0 and any(n > 1 and ours != numpys for n, ours, numpys in pairs)
