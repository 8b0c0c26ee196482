"""SciPy for traced arrays: ``from funcdiff.scipy import linalg`` in place of SciPy's own.

Its modules have SciPy's names, signatures and results.  Plain values give SciPy's own; a covered
function takes traced arrays, too; every other one refuses them with a reason.
"""

from typing import Any

from funcdiff.core.late import late_import

_MODULES = (
    "cluster", "constants", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize",
    "signal", "sparse", "spatial", "special", "stats",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a module when it is first asked for."""
    if name in _MODULES:
        return late_import(f"funcdiff.scipy.{name}")
    raise AttributeError(f"funcdiff.scipy has no attribute {name!r}: it has {', '.join(_MODULES)}")


def __dir__() -> list[str]:
    return [*_MODULES]
