"""Vector quantization: the codes are constants, the distances to them are differentiable."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.numpy.border.promotion import array
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import covers

_MODULE: Final = "scipy.cluster.vq"
_NOTE: Final = "The codes are constants."


def _quantize(obs: Any, code_book: Any, kind: Any) -> tuple[Any, Any]:
    """Return the number of the next row of the book for each observation, and its distance."""
    points, book = array(obs), array(code_book)
    if points.ndim != book.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if points.ndim == 1:
        points, book = points[:, None], book[:, None]
    if points.shape[1] != book.shape[1]:
        raise ValueError("obs and code_book should have the same number of features.")
    rows: Any = stop_gradient(points)
    gaps = rows[:, None, :] - stop_gradient(book)
    codes = np.argmin(np.sum(gaps * gaps, axis=-1), axis=1)
    return codes.astype(kind), np.linalg.norm(points - book[codes], axis=-1)


@covers(_MODULE, note=_NOTE)
def vq(obs: Any, code_book: Any, check_finite: bool = True) -> Any:
    """Return codes of observations and distances, with the derivative 0 at a code."""
    return _quantize(obs, code_book, np.int32)


@covers(_MODULE, note=_NOTE)
def py_vq(obs: Any, code_book: Any, check_finite: bool = True) -> Any:
    """Return the same in double precision, with codes of NumPy's kind of index."""
    points, book = (array(x).astype(np.float64) for x in (obs, code_book))
    return _quantize(points, book, np.intp)


borrow_functions(_MODULE, "whiten")
