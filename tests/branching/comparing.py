"""Runs random programs in all modes, and compares these with each other and with differences.

``python -m tests.branching.comparing 0 5000`` runs the programs of these seeds; it prints what
disagrees, and how many programs branched, became loops, or were refused.
"""

from __future__ import annotations

import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

import numpy as np

import funcdiff as fd
from funcdiff.api.compiling import executables
from funcdiff.errors import FuncdiffError
from tests.branching.writer import Program, write

FD: Any = fd
SECONDS: Final = 20  # of processor time for one mode
Function = Callable[[Any], Any]
Make = Callable[[Any, Any, Any], Function]  # of the function, a direction, and `jit`


def _slope(f: Any, v: Any) -> Function:
    return lambda x: FD.jvp(f, (x,), (v,))[1]


def _linear(f: Any, v: Any) -> Function:
    return lambda x: FD.linearize(f, x)[1](v)


def _product(f: Any, v: Any) -> Function:
    return lambda x: FD.hvp(f, (x,), (v,))


PLAIN: Final[dict[str, tuple[str, Make]]] = {
    "grad": ("gradient", lambda f, v, jit: FD.grad(f)),
    "hvp": ("product", lambda f, v, jit: _product(f, v)),
    "hessian": ("hessian", lambda f, v, jit: FD.hessian(f)),
    "value_and_grad": ("value", lambda f, v, jit: lambda x: FD.value_and_grad(f)(x)[0]),
    "vjp": ("gradient", lambda f, v, jit: lambda x: FD.vjp(f, x)[1](1.0)[0]),
    "jvp": ("slope", lambda f, v, jit: _slope(f, v)),
    "linearize": ("slope", lambda f, v, jit: _linear(f, v)),
    "checkpoint": ("gradient", lambda f, v, jit: FD.grad(FD.checkpoint(f))),
    "jacfwd": ("gradient", lambda f, v, jit: FD.jacfwd(f)),
    "vmap": ("gradient", lambda f, v, jit: lambda x: FD.vmap(FD.grad(f))(x[None])[0]),
    "grad of jvp": ("product", lambda f, v, jit: FD.grad(_slope(f, v))),
    "grad of linearize": ("product", lambda f, v, jit: FD.grad(_linear(f, v))),
    "grad of grad": ("product", lambda f, v, jit: FD.grad(lambda x: FD.grad(f)(x) @ v)),
    "jacfwd of jacfwd": ("hessian", lambda f, v, jit: FD.jacfwd(FD.jacfwd(f))),
    "jacrev of jacrev": ("hessian", lambda f, v, jit: FD.jacrev(FD.jacrev(f))),
    "jacrev of checkpoint": ("hessian", lambda f, v, jit: FD.jacrev(FD.grad(FD.checkpoint(f)))),
}
"""What each mode computes, and how, without `jit`; the first three are the references."""

COMPILED: Final[dict[str, tuple[str, Make]]] = {
    "jit": ("value", lambda f, v, jit: jit(f)),
    "jit of grad": ("gradient", lambda f, v, jit: jit(FD.grad(f))),
    "grad of jit": ("gradient", lambda f, v, jit: FD.grad(jit(f))),
    "jit of jvp": ("slope", lambda f, v, jit: jit(_slope(f, v))),
    "jvp of jit": ("slope", lambda f, v, jit: _slope(jit(f), v)),
    "jit of linearize": ("slope", lambda f, v, jit: jit(_linear(f, v))),
    "jit of checkpoint": ("gradient", lambda f, v, jit: jit(FD.grad(FD.checkpoint(f)))),
    "jit of hvp": ("product", lambda f, v, jit: jit(_product(f, v))),
    "hvp of jit": ("product", lambda f, v, jit: _product(jit(f), v)),
    "jit of hessian": ("hessian", lambda f, v, jit: jit(FD.hessian(f))),
    "hessian of jit": ("hessian", lambda f, v, jit: FD.hessian(jit(f))),
}


class TooLongError(BaseException):
    """A mode took too long; no handler of a program catches it."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Stop a block after so much processor time, unless that is zero."""

    def late(*_: Any) -> None:
        raise TooLongError

    if not seconds:
        yield
        return
    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Report:
    """What became of programs."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.refused: dict[str, list[int]] = {}
        self.wrong: list[str] = []


class _Comparison:
    """One program in several modes at several points."""

    def __init__(self, program: Program, report: Report, seconds: float) -> None:
        self.program, self.report, self.seconds = program, report, seconds
        self.lasting = program.kind == "lasting"
        self.points = program.points(4 if self.lasting else 6)
        self.random = Random(program.seed)
        engine = self.random.choice(("numpy", "numpy", None, None, "llvm"))
        self.engine = {} if engine is None else {"engine": engine}
        rng = np.random.default_rng(program.seed + 1)
        self.v = rng.normal(size=program.n).astype(program.dtype)
        single = program.dtype == "float32"
        self.bits, self.tolerance = (1e-6, 2e-3) if single else (1e-13, 1e-8)
        self.expected: dict[str, list[Any]] = {}

    def run(self, extra: int) -> None:
        """Compare the program in `extra` of the modes of first order, and of second order."""
        counts, dtype = self.report.counts, self.program.dtype
        paths = self._paths()
        if max(map(len, paths)) > 200 and self.random.random() < 0.8:
            return  # long ones take as much time as ten others
        counts.update(["programs", self.program.kind, dtype])
        counts["programs that branch"] += len(set(paths)) > 1
        if not self._expect("grad"):
            return
        gradients = self.expected["gradient"]
        self.expected["slope"] = [np.sum(np.real(np.conj(g) * self.v)) for g in gradients]
        if dtype != "float32":
            for k in (0, 3):
                self._differentiate(self._at_call(k), "slope", k)
        orders = [("value", "gradient", "slope"), ("product", "hessian")]
        second = dtype == "float64" and self.random.random() < 0.6
        if second and self._expect("hvp") and self.program.n <= 3 and self._expect("hessian"):
            pairs = zip(self.expected["hessian"], self.expected["product"], strict=True)
            self._compare("hessian", "product", [h @ self.v for h, _ in pairs])
        if second and not self.lasting and "product" in self.expected:
            self._differentiate(FD.grad(self._at_call(1)), "product", 1)
        modes = PLAIN if self.lasting else {**PLAIN, **COMPILED}
        chosen = [] if self.lasting else [self.random.choice(("jit", "jit of grad"))]
        for order in orders[: 1 + second]:
            names = [name for name, (of, _) in modes.items() if of in order]
            chosen += self.random.sample(names, extra)
        for name in dict.fromkeys(chosen):
            of, _ = modes[name]
            if of in self.expected and (found := self._results(name)) is not None:
                self._compare(name, of, found)
        if not self.lasting:
            self._compare_batches()

    # ---- plain calls ---------------------------------------------------------------------------

    def _paths(self) -> list[Any]:
        """Run the plain function at all points; return over which lines each call goes."""
        f, state = self.program.make()
        name, paths = f"<random program {self.program.seed}>", []
        self.expected["value"] = []

        def trace(frame: Any, _event: str, _: Any) -> Any:
            if frame.f_code.co_filename == name:
                lines.append(frame.f_lineno)
                return trace
            return None

        for x in self.points:
            lines: list[int] = []
            before = sys.gettrace()
            sys.settrace(trace)
            try:
                self.expected["value"].append(f(x.copy()))
            finally:
                sys.settrace(before)
            paths.append(tuple(lines))
        self.state = state()
        return paths

    def _at_call(self, k: int) -> Function:
        """Return the plain function as it is at the k-th call."""

        def f(x: Any) -> Any:
            fresh, _ = self.program.make()
            for earlier in self.points[: k if self.lasting else 0]:
                fresh(earlier.copy())
            return fresh(x.copy())

        return f

    def _differentiate(self, f: Function, of: str, k: int) -> None:
        """Compare with differences along v, where there is neither a kink nor a jump."""
        x, v, h = self.points[k], self.v, 1e-4
        at, found = f(x), self.expected[of][k]
        sides = [(f(x + s * v), f(x - s * v), s) for s in (h, h / 2)]
        coarse, fine = ((up - down) / (2 * s) for up, down, s in sides)
        scale = 1.0 + float(np.max(np.abs(fine)))
        error = float(np.max(np.abs(coarse - fine)))
        bend = float(np.max(np.abs(sides[1][0] + sides[1][1] - 2 * at))) / h
        is_smooth = error < 1e-4 * scale and bend < 0.05 * scale
        self.report.counts["differences" if is_smooth else "kinks"] += 1
        bound = 2 * error + 1e-7 * scale * (10 if of == "product" else 1)
        difference = (4 * fine - coarse) / 3
        if is_smooth and not np.all(np.abs(difference - found) <= bound):
            self._note(f"the {of} at point {k}: {found}, by differences {difference}", of, k)

    # ---- derivatives ---------------------------------------------------------------------------

    def _expect(self, name: str) -> bool:
        """Compute in a mode that others are held against; return whether it computes."""
        found = self._results(name)
        if found is not None:
            self.expected[PLAIN[name][0]] = found
        return found is not None

    def _results(self, name: str) -> list[Any] | None:
        """Return what a mode gives at all points, at the first one twice; None if it refuses."""
        f, state = self.program.make()
        _, make = {**PLAIN, **COMPILED}[name]
        xs = [x.copy() for x in self.points]
        g = make(f, self.v, lambda h: FD.jit(h, **self.engine))
        with self._refusals(name):
            found = [np.asarray(g(x)) for x in xs]
            left = state()
            if not self.lasting:
                found[0] = np.asarray(g(xs[0]))
            self._count_loops(g)
            if any(x.tobytes() != y.tobytes() for x, y in zip(xs, self.points, strict=True)):
                self._note(f"{name} changes its argument")
            if name in PLAIN and left != self.state:
                self._note(f"{name} leaves the state {left}, not {self.state}")
            return found
        return None

    @contextmanager
    def _refusals(self, name: str) -> Iterator[None]:
        """Note what is refused, or takes too long; errors that are not ours are wrong."""

        try:
            with _limited(self.seconds):
                yield
        except (Exception, TooLongError) as error:
            what = re.sub(r"[-0-9.]+|\bt\d+|'.*?'", "#", f"{error}".split("\n")[0])[:90]
            what = f"{name}: {type(error).__name__}: {what}"
            self.report.refused.setdefault(what, []).append(self.program.seed)
            if not isinstance(error, FuncdiffError | TooLongError):
                self._note(f"{name} raises {error!r}")

    def _count_loops(self, g: Any) -> None:
        """Count compiled programs, and those that `jit` rolled up."""
        for known in getattr(g, "_programs", {}).values():
            self.report.counts["compiled"] += 1
            if isinstance(known, executables.Guarded):
                self.report.counts["compiled, and branches"] += known.leaves > 1
                self.report.counts["compiled, and rolled"] += bool(known._iterations)

    def _compare_batches(self) -> None:
        """Compare a batch with a loop: equal examples must do, others may be refused."""
        same = np.stack([self.points[0]] * 3)
        for batch, name in ((same, "vmap of equal points"), (np.stack(self.points[:3]), "vmap")):
            if self.random.random() < 0.5:
                continue
            f, _ = self.program.make()
            g = FD.vmap(FD.grad(f))
            g = FD.jit(g, **self.engine) if self.random.random() < 0.5 else g
            with self._refusals(name):
                found = list(g(batch))
                self._compare(name, "gradient", found[:1] if batch is same else found)

    # ---- comparison ----------------------------------------------------------------------------

    def _compare(self, name: str, of: str, found: list[Any]) -> None:
        """Compare results with the expected ones, where these are finite."""
        loose = 100.0 if of in ("product", "hessian") else 1.0
        for k, (y, expected) in enumerate(zip(found, self.expected[of], strict=False)):
            self.report.counts["compared"] += 1
            if np.all(np.isfinite(expected)) and not _near(y, expected, loose * self.tolerance):
                self._note(f"{name} at point {k}: {y}, not {expected}", of, k)
                return

    def _note(self, what: str, of: str = "", k: int = 0) -> None:
        """Note a fault, unless the last bits of the point decide."""
        if of and self._is_unstable(of, k):
            self.report.counts["the last bits decide"] += 1
        else:
            p = self.program
            self.report.wrong.append(f"seed {p.seed} ({p.kind}, {p.dtype}, n = {p.n}): {what}")

    def _is_unstable(self, of: str, k: int) -> bool:
        of = of if of in ("product", "hessian") else "gradient"
        make = next(make for what, make in PLAIN.values() if what == of)
        found = []
        for s in (-3, -1, 0, 1, 3):
            g = make(self._at_call(k), self.v, None)
            found.append(g((self.points[k] * (1 + s * self.bits)).astype(self.program.dtype)))
        return not all(_near(y, found[2], 1e-5 * self.tolerance / 1e-8) for y in found)


def _near(found: Any, expected: Any, tolerance: float) -> bool:
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    same = np.shape(found) == np.shape(expected)
    return same and bool(np.all(np.abs(found - expected) <= min(tolerance, 0.1) * scale))


def compare(seed: int, report: Report, extra: int = 1, seconds: float = 0) -> None:
    """Compare the program of a seed; `jit` looks for loops after two ways, or two decisions.

    Tests give all modes the time that they take, and the command line each mode some seconds.
    """
    which = ("_FEW", "_LONG")[seed % 2]
    before = getattr(executables, which)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        setattr(executables, which, 2)
        try:
            _Comparison(write(seed), report, seconds).run(extra)
        finally:
            setattr(executables, which, before)


def main(first: int, last: int) -> None:
    """Run the programs of some seeds, and print what became of them."""
    report = Report()
    for seed in range(first, last):
        known = len(report.wrong)
        try:
            compare(seed, report, seconds=SECONDS)
        except Exception as error:
            report.wrong.append(f"seed {seed}: {error!r}")
        if report.wrong[known:]:
            print(*report.wrong[known:], sep="\n", flush=True)
        if seed % 100 == 99:
            print(seed, dict(report.counts), flush=True)
    print(dict(report.counts))
    for what, seeds in sorted(report.refused.items(), key=lambda item: -len(item[1])):
        print(len(seeds), what, seeds[:4])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
