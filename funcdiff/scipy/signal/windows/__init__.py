"""``scipy.signal.windows`` for traced arrays: ``from funcdiff.scipy.signal import windows``."""

import funcdiff.scipy.signal.windows.chebyshev  # noqa: F401
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import namespace

borrow_functions(
    "scipy.signal.windows",
    "exponential gaussian general_cosine general_gaussian general_hamming get_window kaiser "
    "kaiser_bessel_derived taylor",
    note="The number of points is a constant.",
)
borrow_functions(
    "scipy.signal.windows",
    "dpss",
    note="Numbers of points and windows are constants; a batch holds one window for each NW.",
)
borrow_functions(
    "scipy.signal.windows",
    "tukey",
    note="The number of points is a constant; for alpha of 0 or 1, or beyond, it is flat in alpha.",
)

__getattr__, __dir__ = namespace(
    "scipy.signal.windows",
    {
        "barthann bartlett blackman blackmanharris bohman boxcar cosine flattop hamming hann "
        "lanczos nuttall parzen triang": (
            "It depends on a number of points alone. Give it a plain int: len(x)."
        )
    },
)
