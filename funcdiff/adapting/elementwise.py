"""`numpy.vectorize` and `numpy.broadcast`, of traced arrays, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.creation.construction import array, asarray


class vectorize(np.vectorize):  # noqa: N801
    """`numpy.vectorize`, which loops where something is traced."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Return the function's results for the elements of the arrays."""
        given = [*args, *keywords.values()]
        if not any(map(is_traced, given)) or self.signature is not None:
            return super().__call__(*args, **keywords)
        if self.excluded or keywords:
            return self._with_excluded(args, keywords)
        xs = np.broadcast_arrays(*map(asarray, args))
        shape = xs[0].shape
        rows = [self.pyfunc(*row) for row in zip(*(x.ravel() for x in xs), strict=True)]
        if not rows or not isinstance(rows[0], tuple):
            return self._joined(0, rows).reshape(shape)
        columns = enumerate(zip(*rows, strict=True))
        return tuple(self._joined(k, ys).reshape(shape) for k, ys in columns)

    def _joined(self, place: int, ys: Any) -> Any:
        """Return results as an array of the dtype that is asked for, or else of the first one's."""
        kind = self.otypes[place] if self.otypes else asarray(ys[0]).dtype if ys else None
        return array(ys).astype(kind)

    def _with_excluded(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Loop over what is not excluded, by place or name."""
        places = [k for k in range(len(args)) if k not in self.excluded]
        names = [name for name in keywords if name not in self.excluded]

        def function(*xs: Any) -> Any:
            given = [*args]
            for k, x in zip(places, xs, strict=False):
                given[k] = x
            named = dict(zip(names, xs[len(places) :], strict=True))
            return self.pyfunc(*given, **keywords | named)

        return vectorize(function)(*(args[k] for k in places), *(keywords[n] for n in names))


class broadcast:  # noqa: N801
    """`numpy.broadcast`: the shape of arrays together, and their elements side by side."""

    def __new__(cls, *arrays: Any) -> Any:
        """Return NumPy's where nothing is traced."""
        return super().__new__(cls) if any(map(is_traced, arrays)) else np.broadcast(*arrays)

    def __init__(self, *arrays: Any) -> None:
        self._arrays = np.broadcast_arrays(*map(asarray, arrays))
        self.shape = self._arrays[0].shape
        self.ndim = self.nd = len(self.shape)
        self.size = self._arrays[0].size
        self.numiter = len(arrays)

    def __iter__(self) -> Any:
        return zip(*(x.ravel() for x in self._arrays), strict=True)
