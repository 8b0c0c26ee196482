"""NumPy's linear algebra and its products of arrays; imported, it is ``numpy.linalg``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.linalg import *  # noqa: F403
else:
    from funcdiff.numpy.namespace import linalg as _linalg

    def __getattr__(name: str) -> Any:
        return getattr(_linalg, name)
