"""`numpy.vectorize`, `numpy.frompyfunc` and `numpy.broadcast`, of traced arrays, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import as_number
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.composed import own_code
from funcdiff.numpy.creation.construction import array, asarray


class vectorize(np.vectorize):  # noqa: N801
    """`numpy.vectorize`, which loops where something is traced."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Return the function's results for the elements of the arrays."""
        given = [*args, *keywords.values()]
        if not any(map(is_traced, given)):
            return super().__call__(*args, **keywords)
        if self.signature is not None:
            loop = _OfParts(
                self.pyfunc, self.otypes, excluded=self.excluded, signature=self.signature
            )
            return loop(*args, **keywords)
        if self.excluded or keywords:
            return self._with_excluded(args, keywords)
        shape, rows = _by_elements(self.pyfunc, args)
        if not rows and not self.otypes:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        several = isinstance(rows[0], tuple) if rows else len(self.otypes or "") > 1
        if not several:
            return self._join(0, rows).reshape(shape)
        columns = zip(*rows, strict=True) if rows else [[]] * len(self.otypes or "")
        return tuple(self._join(k, ys).reshape(shape) for k, ys in enumerate(columns))

    def _join(self, place: int, ys: Any) -> Any:
        """Return results as an array of the dtype that is asked for, or else of the first one's."""
        kind = self.otypes[place] if self.otypes else asarray(ys[0]).dtype
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

        loop = vectorize(function, self.otypes)
        return loop(*(args[k] for k in places), *(keywords[n] for n in names))


def _by_elements(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Return the shape of arrays together, and what a function makes of their elements."""
    xs = [asarray(x) for x in args]
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    columns = [_elements(np.broadcast_to(x, shape)) for x in xs]  # one by one: some may be of text
    return shape, [function(*row) for row in zip(*columns, strict=True)]


class _OfParts(vectorize):
    """`numpy.vectorize` by a signature: NumPy's own loop, on traced arrays."""

    __call__ = np.vectorize.__call__
    _vectorize_call_with_signature = own_code(np.vectorize._vectorize_call_with_signature)  # type: ignore[attr-defined]


class frompyfunc:  # noqa: N801
    """`numpy.frompyfunc`, which loops where something is traced, and gives numbers, no objects."""

    def __init__(self, func: Any, /, nin: int, nout: int, **keywords: Any) -> None:
        self._plain = np.frompyfunc(func, nin, nout, **keywords)
        self._function = func

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Return the function's results for the elements of the arrays."""
        if keywords or not any(map(is_traced, args)):
            return self._plain(*args, **keywords)
        shape, rows = _by_elements(self._function, args)
        if self._plain.nout == 1:
            return array(rows).reshape(shape)
        columns = zip(*rows, strict=True) if rows else [[]] * self._plain.nout
        return tuple(array(ys).reshape(shape) for ys in columns)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


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
        self.reset()

    def reset(self) -> None:
        """Begin again with the first elements."""
        self.index = 0
        self._rows = zip(*(x.ravel() for x in self._arrays), strict=True)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        row = next(self._rows)
        self.index += 1
        return row


def _elements(x: Any) -> list[Any]:
    """Return the elements of an array as NumPy gives them to functions: Python's numbers."""
    if isinstance(x, Tracer):
        return [as_number(element) for element in x.reshape(-1)]  # type: ignore[attr-defined]
    return list(np.asarray(x, object).reshape(-1))
