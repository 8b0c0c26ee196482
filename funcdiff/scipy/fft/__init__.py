"""``scipy.fft`` for traced arrays: ``from funcdiff.scipy import fft``.

SciPy's own functions reach traced arrays, too, by the protocol that they have for other libraries:
``scipy.fft.fft(x)``.

Examples
--------
>>> import numpy as np
>>> import funcdiff as fd
>>> from funcdiff.scipy import fft
>>> print(fd.grad(lambda x: np.sum(fft.dct(x) ** 2))(np.array([1.0, 2.0])))
[20. 28.]
"""

import funcdiff.scipy.fft.compiled
import funcdiff.scipy.fft.hankel  # noqa: F401
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import namespace

_KEYWORDS = "`workers` and `overwrite_x` change nothing for traced arrays; a `plan` is refused."

borrow_functions(
    "scipy.fft",
    "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2 "
    "hfftn ihfftn",
    code="scipy.fft._basic_backend",
    note=_KEYWORDS,
)
borrow_functions(
    "scipy.fft",
    "dct idct dst idst dctn idctn dstn idstn",
    code="scipy.fft._realtransforms_backend",
    note=_KEYWORDS,
)
borrow_functions("scipy.fft", "fhtoffset fftfreq rfftfreq fftshift ifftshift")

_WHOLE = "It computes with whole numbers. Give it plain ones: x.shape[0], not x."
_SETTING = "It is about how SciPy computes. Call it outside the function."

__getattr__, __dir__ = namespace(
    "scipy.fft",
    {
        "next_fast_len prev_fast_len": _WHOLE,
        "set_workers get_workers set_backend skip_backend set_global_backend register_backend": (
            _SETTING
        ),
    },
)
