"""Discrete Fourier transforms: every function, length, axis and norm."""

from __future__ import annotations

from tests.patterns.pattern import Pattern, complex_, real
from tests.patterns.tables.calls import call

NORMS = ("'backward'", "'ortho'", "'forward'")
Z, X = complex_(3, 5), real(3, 5)

PATTERNS: list[Pattern] = [
    *(
        call(f"np.fft.{name}(x)", argument)
        for name in ("fft", "ifft", "hfft", "irfft")
        for argument in (Z,)
    ),
    *(call(f"np.fft.{name}(x)", X) for name in ("rfft", "ihfft")),
    *(
        call(f"np.fft.{name}(x, n=4, axis=0, norm={norm})", Z)
        for name in ("fft", "ifft", "hfft", "irfft")
        for norm in NORMS
    ),
    *(
        call(f"np.fft.{name}(x, n=4, axis=0, norm={norm})", X)
        for name in ("rfft", "ihfft")
        for norm in NORMS
    ),
    *(
        call(f"np.fft.{name}(x, n={n})", Z)
        for name in ("fft", "ifft", "hfft", "irfft")
        for n in (3, 7, 9)
    ),
    *(call(f"np.fft.{name}(x, n={n})", X) for name in ("rfft", "ihfft") for n in (3, 7, 8)),
    *(
        call(f"np.fft.{name}(x) * 1.0", Z)
        for name in ("fft2", "ifft2", "irfft2", "fftn", "ifftn", "irfftn")
    ),
    *(call(f"np.fft.{name}(x) * 2.0", X) for name in ("rfft2", "rfftn", "fftn")),
    *(
        call(f"np.fft.{name}(x, s=(4, 3), axes=(1, 0), norm='ortho')", complex_(3, 5, 2))
        for name in ("fft2", "ifft2", "irfft2", "fftn", "ifftn", "irfftn")
    ),
    *(
        call(f"np.fft.{name}(x, s=(4, 3), axes=(1, 0), norm='forward')", real(3, 5, 2))
        for name in ("rfft2", "rfftn")
    ),
    *(
        call(f"np.fft.{name}(x, s={s}, axes={axes})", complex_(3, 5, 2), large=())
        for name in ("fftn", "ifftn", "irfftn")
        for s, axes in (((-1, 5), (1, -1)), ((4, 3, 2), (1, 1, 0)))
    ),
    call("np.fft.fft(x) * 2.0", X),
    call("np.fft.ifftshift(x, axes=(1, 1)) * np.fft.fftshift(x, axes=(-1,))", X, large=()),
    call("np.fft.fftshift(x)", X),
    call("np.fft.ifftshift(x, axes=1)", X),
    call("np.fft.fftfreq(x.size, 0.5) * x + np.fft.rfftfreq(x.size, 0.5).sum()", real(6)),
    call("np.fft.irfft(np.fft.rfft(x) * np.exp(-np.fft.rfftfreq(5)), n=5)", X, large=()),
]
