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


@covers(_MODULE, note=_NOTE)
def vq(obs: Any, code_book: Any, check_finite: bool = True) -> Any:
    """Return codes of observations and distances, with the derivative 0 at a code."""
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
    return codes.astype(np.int32), np.linalg.norm(points - book[codes], axis=-1)


borrow_functions(_MODULE, "py_vq", note=_NOTE)
borrow_functions(_MODULE, "whiten")
