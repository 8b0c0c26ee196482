"""What is asked of the derivatives of a case, and the reason if they do not give it."""

from __future__ import annotations

import faulthandler
import linecache
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import numpy as np

import funcdiff as fd
from docs.packages import differences
from docs.packages.case import Case
from funcdiff.errors import LostDerivativeWarning

TOLERANCE: Final = 1e-6
"""How far a derivative may be from differences, relative to the largest element of all."""
SETTLED: Final = 1e-3
"""How large the error of differences may be for them to decide anything."""
NEAR: Final = 2.0**-10
"""How far the second point of a case is from its first, relative to it."""
SECONDS: Final = 40
"""How long one check may take, of the processor's time."""
PATIENCE: Final = 15
"""How many times as long it may take by the clock, on a busy machine or waiting for a lock."""

WRONG: Final = "wrong: "
"""How a reason begins for numbers that are not right, of which nothing warns."""

Function = Callable[[Any], Any]


class WrongError(Exception):
    """A number came out that is not the right one."""


class TimeLimitError(BaseException):
    """A check took too long; no handler of a package's catches it."""


class Checked:
    """A case with the modules as they are loaded in one way, and what its derivatives should be."""

    def __init__(self, case: Case, f: Function, plain: Function) -> None:
        self.case, self.f, self.plain = case, f, plain
        self.points = [case.point(), case.point(NEAR)]
        self.values = [np.asarray(plain(case.point(moved))) for moved in (0.0, NEAR)]
        value = self.values[0]
        largest = float(np.max(np.abs(value))) or 1.0
        self.weights = (1.5 + np.cos(np.arange(value.size))).reshape(value.shape) / largest

    def scalar(self, x: Any) -> Any:
        """Return a weighted sum of the results."""
        return np.sum(self.weights * self.f(x))

    def value(self) -> None:
        """Hold the result outside of derivatives against the original's, bit by bit."""
        for x, wanted in zip(self.points, self.values, strict=True):
            found, original = self.f(x), self.plain(x)
            if type(found).__name__ != type(original).__name__:
                raise WrongError(f"{type(found).__name__} in place of {type(original).__name__}")
            same(np.asarray(found), wanted)

    def reverse(self) -> None:
        """Hold the Jacobian by rows against differences, and the value against the original's."""
        near(np.asarray(fd.value_and_grad(self.scalar)(self.points[0])[0]), self._weighed(0))
        self._jacobian("reverse")

    def forward(self) -> None:
        """Hold the Jacobian by columns against differences."""
        self._jacobian("forward")

    def second(self) -> None:
        """Hold the Jacobian of the gradient against differences of the gradient."""
        gradient = fd.grad(self.scalar)
        at = self.points[0]
        found = fd.jacobian(gradient)(at)
        largest = np.max(np.abs(gradient(at)))
        agree(found, *differences.jacobian(gradient, at), largest / np.max(np.abs(at)))

    def jit(self) -> None:
        """Hold the compiled gradient against the one that is traced, at two points."""
        compiled = fd.jit(fd.grad(self.scalar))
        for x in self.points:
            near(np.asarray(compiled(x)), np.asarray(fd.grad(self.scalar)(x)))

    def vmap(self) -> None:
        """Hold the results of a batch of the two points against those of each."""
        batch = np.stack([np.asarray(x, np.float64) for x in self.points])
        near(np.asarray(fd.vmap(self.f)(batch)), np.stack(self.values))

    def _weighed(self, i: int) -> Any:
        return np.sum(self.weights * self.values[i])

    def _jacobian(self, mode: Any) -> None:
        at = self.points[0]
        found = fd.jacobian(self.f, mode=mode)(at)
        largest = np.max(np.abs(self.values[0]))
        agree(found, *differences.jacobian(self.plain, at), largest / np.max(np.abs(at)))


CHECKS: Final = ("value", "reverse", "forward", "second", "jit", "vmap")


def agree(found: Any, wanted: Any, error: Any, unit: float) -> None:
    """Raise if a derivative is not that of differences; `unit` is the size of what is no zero."""
    largest = float(np.max(np.abs(wanted)))
    if float(np.max(error)) > SETTLED * largest + 1e-8 * unit:
        raise WrongError(f"undecided: differences have errors of {np.max(error):.1e}")
    near(np.asarray(found), wanted, TOLERANCE * largest + 8.0 * error + 1e-9 * unit)


def near(found: Any, wanted: Any, allowed: Any = None) -> None:
    """Raise if numbers are not those wanted, to rounding if nothing else is allowed."""
    if found.shape != wanted.shape:
        raise WrongError(f"shape {found.shape} in place of {wanted.shape}")
    allowed = 1e-9 * np.max(np.abs(wanted)) if allowed is None else allowed
    distance = np.abs(found - wanted)
    if not np.all(distance <= allowed):
        worst = np.unravel_index(np.argmax(distance - allowed), np.shape(found))
        raise WrongError(f"{found[worst]:.9g} in place of {wanted[worst]:.9g}")


def same(found: Any, wanted: Any) -> None:
    """Raise if arrays differ in a bit."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        raise WrongError(f"{found.dtype}{found.shape} in place of {wanted.dtype}{wanted.shape}")
    if found.tobytes() != wanted.tobytes():
        raise WrongError(f"{found.ravel()[0]!r}... in place of {wanted.ravel()[0]!r}...")


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise in the middle of what takes longer, again each second if a handler took the error.

    What waits for ever, or computes in a call of C, cannot be stopped so: it ends the process, and
    says where it was.
    """

    def stop(_signum: int, _frame: FrameType | None) -> None:
        raise TimeLimitError(f"took more than {seconds} seconds")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    faulthandler.dump_traceback_later(PATIENCE * seconds, exit=True, file=2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()


def outcomes(case: Case, modules: Callable[[str], Any], plain: Function) -> dict[str, Any]:
    """Return the reason for which each check fails, or an empty text.

    `traces` has the tracebacks, and `told` the places that a LostDerivativeWarning named.
    """
    found: dict[str, Any] = {"traces": {}, "told": []}
    checked: Checked | None = None
    for name in CHECKS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", LostDerivativeWarning)
            try:
                with time_limit(SECONDS):
                    checked = checked or Checked(case, case.function(modules), plain)
                    getattr(checked, name)()
                found[name] = ""
            except (Exception, TimeLimitError) as error:
                found[name] = reason(error, case.package)
                found["traces"][name] = traceback.format_exc()
        if caught and found[name].startswith(WRONG):
            found[name] = f"{LostDerivativeWarning.__name__}: {found[name].removeprefix(WRONG)}"
        found["told"] += sorted({f"{w.filename}:{w.lineno}" for w in caught})
    return found


def reason(error: BaseException, package: str) -> str:
    """Return an error in a line; one of ours by the line of the package at which it was met."""
    kind, text = type(error).__name__, str(error).strip().partition("\n")[0]
    if isinstance(error, WrongError):
        return WRONG + text
    frames = traceback.extract_tb(error.__traceback__)
    named = [(frame.filename, frame.lineno or 0) for frame in frames]
    named += [(file, int(line)) for file, line in re.findall(r"at '(\S+)', line (\d+)", text)]
    lines = [linecache.getline(*place).strip() for place in named if f"/{package}" in place[0]]
    if isinstance(error, fd.errors.FuncdiffError) and lines:
        return f"{kind}: {lines[-1]}"
    return f"{kind}: {text}"
