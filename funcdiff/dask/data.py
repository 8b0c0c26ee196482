"""Imports Dask, or says how it is installed; checks the data of a call.

Data are Dask arrays that have the same examples in the same chunks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcdiff.api.calls.arguments import describe
from funcdiff.api.calls.inputs import operand
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, not_installed, user_location

try:
    import dask.array as da
    from dask import delayed, optimize
    from dask.base import get_scheduler
    from dask.callbacks import Callback
    from dask.core import flatten
    from dask.highlevelgraph import HighLevelGraph
except ImportError as error:
    raise not_installed(error, "fd.dask needs Dask", "funcdiff[dask]") from error

__all__ = [
    "Callback",
    "Data",
    "HighLevelGraph",
    "da",
    "delayed",
    "flatten",
    "get_scheduler",
    "optimize",
]


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays of examples along axis 0, cut between examples at the same places."""

    arrays: tuple[Any, ...]  # Dask arrays, each with one chunk along every other axis

    @classmethod
    def of(cls, name: str, arrays: Sequence[Any], named: Mapping[str, Any]) -> Data:
        """Check the data that a function was called with, which none may be by keyword.

        Raises `InputError` if they are no Dask arrays of numbers with the same chunks along axis 0
        and one along the others, or have no examples.
        """
        if named:
            keywords = ", ".join(f"{key}=" for key in named)
            raise _error(name, f"was given {keywords}", "Give parameters and data by position.")
        if not arrays:
            raise _error(name, "was called without data", "Give Dask arrays after the parameters.")
        for k, x in enumerate(arrays):
            _check(f"{name}: argument {k} of the data", x)
        first, *others = [x.chunks[0] for x in arrays]
        for k, chunks in enumerate(others, 1):
            if chunks != first:
                raise _error(
                    f"{name}: the data",
                    f"have {sum(first)} and {sum(chunks)} examples (arguments 0 and {k}), in "
                    f"{len(first)} and {len(chunks)} chunks that differ",
                    "Give both the same: y = y.rechunk({0: X.chunks[0]}).",
                )
        if not sum(first):
            raise _error(f"{name}: the data", "have no examples", "Give at least one.")
        return cls(tuple(arrays))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many examples the chunks have."""
        counts: tuple[int, ...] = self.arrays[0].chunks[0]
        return counts

    def block(self, count: int) -> list[Any]:
        """Return arrays like those of a block of so many examples; they take no memory."""
        scalars = [operand(np.zeros((), x.dtype)) for x in self.arrays]
        pairs = zip(scalars, self.arrays, strict=True)
        return [np.broadcast_to(zero, (count, *x.shape[1:])) for zero, x in pairs]

    def description(self) -> str:
        """Return what Dask says of the arrays."""
        types = [ArrayType(x.shape, x.dtype.newbyteorder("=")) for x in self.arrays]
        return f"{', '.join(map(str, types))} in chunks of {max(self.counts)}"


def _check(what: str, x: Any) -> None:
    """Refuse what is not a Dask array with known chunks along axis 0 alone."""
    if not isinstance(x, da.Array):
        raise _error(
            what,
            f"is {describe(x)}, not a Dask array",
            "Write da.from_array(x, chunks=(rows, *x.shape[1:])) after `import dask.array as da`; "
            "what is no data goes into the parameters, or is closed over.",
        )
    if x.dtype.kind not in "biufc":
        raise _error(what, f"has dtype {x.dtype}, not numbers", "Write x.astype(float).")
    if not x.ndim:
        raise _error(what, "has no axes", "Examples are counted along axis 0.")
    if any(map(math.isnan, x.shape)):
        raise _error(
            what, "has chunks of unknown sizes", "Write x = x.compute_chunk_sizes() before."
        )
    if any(len(chunks) > 1 for chunks in x.chunks[1:]):
        axes = ", ".join(f"{k}: -1" for k in range(1, x.ndim))
        raise _error(
            what,
            f"has {x.numblocks} chunks, but a loss is written for whole examples",
            f"Write x = x.rechunk({{{axes}}}).",
        )


def _error(subject: str, problem: str, cure: str) -> InputError:
    return InputError(f"{subject} {problem}, at {user_location()}. {cure}")
