"""SciPy for traced arrays: ``from funcdiff.scipy import linalg`` in place of SciPy's own.

Its modules have SciPy's names, signatures and results.  Plain values give SciPy's own; a covered
function takes traced arrays, too; every other one refuses them with a reason.
"""

from funcdiff.core.late import late_names

_MODULES = (
    "cluster constants fft integrate interpolate linalg ndimage optimize signal sparse spatial "
    "special stats"
)

__getattr__ = late_names(__name__, {"": _MODULES})


def __dir__() -> list[str]:
    return _MODULES.split()
