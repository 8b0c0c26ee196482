"""Runs random programs in all modes, and compares them with each other and with differences.

``python -m tests.branching.comparing 0 5000`` runs the programs of these seeds, prints the texts of
those that disagree, and what became of all of them.
"""

from __future__ import annotations

import re
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import numpy as np

import funcdiff as fd
from funcdiff.api.compiling import executables
from funcdiff.errors import ConcreteValueError
from funcdiff.passes.loops import rerolling
from tests.branching.writer import Program, write

FD: Any = fd
POINTS: Final = 6
SECONDS: Final = 20
"""Of processor time that one way may take."""

Function = Callable[[Any], Any]


class Disagreement(AssertionError):
    """Two ways of computing the same differ."""


class TooLong(BaseException):
    """A way took too long; no handler of a program catches it."""


@dataclass
class Way:
    """A way to a derivative: ``make(f, v)`` returns a function of a point; `of` says what it is.

    `of` is ``"value"``, ``"gradient"``, ``"slope"`` along v, ``"product"`` of the Hessian with v,
    or ``"hessian"``.
    """

    of: str
    make: Callable[[Any, Any], Function]
    compiled: bool = True


def _engines(make: Callable[[Any, Any, Any], Function]) -> Iterator[tuple[str, Any]]:
    for engine in ("numpy", "llvm", None):
        options = {} if engine is None else {"engine": engine}
        yield engine or "auto", lambda f, v, jit=lambda g, o=options: FD.jit(g, **o): make(f, v, jit)


def _slope(f: Any, v: Any) -> Function:
    return lambda x: FD.jvp(f, (x,), (v,))[1]


def _ways() -> dict[str, Way]:
    ways = {
        "value_and_grad": Way("value", lambda f, v: lambda x: FD.value_and_grad(f)(x)[0], False),
        "vjp": Way("gradient", lambda f, v: lambda x: FD.vjp(f, x)[1](1.0)[0], False),
        "jvp": Way("slope", _slope, False),
        "linearize": Way("slope", lambda f, v: lambda x: FD.linearize(f, x)[1](v), False),
        "checkpoint": Way("gradient", lambda f, v: FD.grad(FD.checkpoint(f)), False),
        "jacfwd": Way("gradient", lambda f, v: FD.jacfwd(f), False),
        "vmap of one": Way("gradient", lambda f, v: lambda x: FD.vmap(FD.grad(f))(x[None])[0], False),
        "hvp": Way("product", lambda f, v: lambda x: FD.hvp(f, (x,), (v,)), False),
        "grad of jvp": Way("product", lambda f, v: FD.grad(_slope(f, v)), False),
        "grad of linearize": Way(
            "product", lambda f, v: FD.grad(lambda x: FD.linearize(f, x)[1](v)), False
        ),
        "grad of grad": Way("product", lambda f, v: FD.grad(lambda x: FD.grad(f)(x) @ v), False),
        "hessian": Way("hessian", lambda f, v: FD.hessian(f), False),
        "jacfwd of jacfwd": Way("hessian", lambda f, v: FD.jacfwd(FD.jacfwd(f)), False),
        "jacrev of jacrev": Way("hessian", lambda f, v: FD.jacrev(FD.jacrev(f)), False),
        "jacrev of checkpoint": Way("hessian", lambda f, v: FD.jacrev(FD.grad(FD.checkpoint(f))), False),
    }
    compiled: dict[str, tuple[str, Callable[[Any, Any, Any], Function]]] = {
        "jit": ("value", lambda f, v, jit: jit(f)),
        "jit of grad": ("gradient", lambda f, v, jit: jit(FD.grad(f))),
        "grad of jit": ("gradient", lambda f, v, jit: FD.grad(jit(f))),
        "jit of jvp": ("slope", lambda f, v, jit: jit(_slope(f, v))),
        "jvp of jit": ("slope", lambda f, v, jit: _slope(jit(f), v)),
        "jit of checkpoint": ("gradient", lambda f, v, jit: jit(FD.grad(FD.checkpoint(f)))),
        "jit of hvp": ("product", lambda f, v, jit: jit(lambda x: FD.hvp(f, (x,), (v,)))),
        "hvp of jit": ("product", lambda f, v, jit: lambda x, g=jit(f): FD.hvp(g, (x,), (v,))),
        "jit of hessian": ("hessian", lambda f, v, jit: jit(FD.hessian(f))),
        "hessian of jit": ("hessian", lambda f, v, jit: FD.hessian(jit(f))),
        "jit of linearize": ("slope", lambda f, v, jit: jit(lambda x: FD.linearize(f, x)[1](v))),
    }
    for name, (of, make) in compiled.items():
        for engine, made in _engines(make):
            ways[f"{name}, {engine}"] = Way(of, made)
    return ways


WAYS: Final = _ways()


@dataclass
class Report:
    """What became of programs."""

    counts: Counter[str] = field(default_factory=Counter)
    refused: dict[str, list[int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def refuse(self, seed: int, what: str) -> None:
        """Note that a way refused a program."""
        self.refused.setdefault(what, []).append(seed)


def near(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether results agree, where the expected one is finite."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return False
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return bool(np.all(np.abs(found - expected) <= tolerance * scale))


class Comparison:
    """One program at several points."""

    def __init__(self, program: Program, report: Report) -> None:
        self.program, self.report = program, report
        self.single = program.dtype == "float32"
        self.lasting = program.kind == "lasting"
        self.points = program.points(4 if self.lasting else POINTS)
        rng = np.random.default_rng(program.seed + 1)
        self.v = rng.normal(size=program.n).astype(self.points[0].dtype)
        self.tolerance = 2e-3 if self.single else 1e-8
        self.expected: dict[str, list[Any]] = {}
        self.state: Any = None

    # ---- plain calls --------------------------------------------------------------------------

    def plain(self, k: int) -> Function:
        """Return the plain function as it is at the k-th call."""
        if not self.lasting:
            return self._f

        def f(x: Any) -> Any:
            fresh, _ = self.program.make()
            for earlier in self.points[:k]:
                fresh(earlier.copy())
            return fresh(x.copy())

        return f

    def paths(self) -> list[int]:
        """Run the plain function at all points; return which lines each call went over."""
        name, found = f"<random program {self.program.seed}>", []
        f, state = self.program.make()
        values = []

        def trace(frame: Any, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != name:
                return None
            lines.append(frame.f_lineno)
            return trace

        for x in self.points:
            lines: list[int] = []
            before = sys.gettrace()
            sys.settrace(trace)
            try:
                values.append(f(x.copy()))
            finally:
                sys.settrace(before)
            found.append(hash(tuple(lines)))
        self.expected["value"], self.state = values, state()
        self._f = lambda x: self.program.make()[0](x.copy()) if self.program.kind != "pure" else f(x.copy())
        return found

    def difference(self, f: Function, x: Any, v: Any) -> tuple[Any, float] | None:
        """Return a derivative along v and its error; None where there is a kink or a jump."""
        h = 1e-4
        at = f(x)
        coarse, fine = ((f(x + s * v), f(x - s * v), s) for s in (h, h / 2))
        (d1, d2) = ((up - down) / (2 * s) for up, down, s in (coarse, fine))
        bend = np.max(np.abs(fine[0] + fine[1] - 2 * at)) / h
        scale = 1.0 + float(np.max(np.abs(d2)))
        error = float(np.max(np.abs(d1 - d2)))
        if not (error < 1e-4 * scale and bend < 0.05 * scale):
            return None
        return (4 * d2 - d1) / 3, 2 * error + 1e-7 * scale

    # ---- derivatives --------------------------------------------------------------------------

    def results(self, name: str, way: Way) -> list[Any] | None:
        """Return what a way gives at all points; None if it refuses."""
        f, state = self.program.make()
        xs = [x.copy() for x in self.points]
        try:
            with limited():
                g = way.make(f, self.v)
                found = [np.asarray(g(x)) for x in xs]
                left = state()
                if not self.lasting and len(xs) > 4:
                    found[0] = np.asarray(g(xs[0]))
                self.count_loops(g)
        except (Exception, TooLong) as error:
            message = re.sub(r"[-0-9.]+|t\d+|'.*?'", "#", str(error).split("\n")[0])[:90]
            where = [x for x in traceback.extract_tb(error.__traceback__) if "<random" in x.filename]
            line = where[-1].line if where else ""
            self.report.refuse(self.program.seed, f"{name}: {type(error).__name__}: {message}")
            if isinstance(error, TooLong) or not isinstance(error, fd.errors.FuncdiffError):
                self.wrong(f"{name} raises {type(error).__name__}: {error} at {line}")
            return None
        for x, given in zip(xs, self.points, strict=True):
            if x.tobytes() != given.tobytes():
                self.wrong(f"{name} changed its argument")
        if not way.compiled and left != self.state:
            self.wrong(f"{name} leaves the state {left}, not {self.state}")
        return found

    def count_loops(self, g: Any) -> None:
        """Count compiled programs, those that branch, and those in which decisions made loops."""
        for known in getattr(g, "_programs", {}).values():
            counts = self.report.counts
            counts["compiled programs"] += 1
            if isinstance(known, executables.Guarded):
                counts["compiled programs that branch"] += known.leaves > 1
                counts["compiled programs with loops of decisions"] += bool(known._iterations)
                counts["run as without jit"] += known.is_eager

    def wrong(self, what: str) -> None:
        """Note a fault."""
        p = self.program
        self.report.wrong.append(f"seed {p.seed} ({p.kind}, {p.dtype}, n={p.n}): {what}")

    def agrees(self, name: str, way: Way, k: int, found: Any) -> bool:
        """Whether a result agrees with the expected one, or the point is one of rounding."""
        expected = self.expected[way.of][k]
        loose = {"product": 100.0, "hessian": 100.0}.get(way.of, 1.0)
        if not np.all(np.isfinite(expected)):
            self.report.counts["not finite"] += 1
            return True
        if near(found, expected, loose * self.tolerance):
            self.report.counts["compared"] += 1
            return True
        if self.is_unstable(way, k):
            self.report.counts["rounding decides"] += 1
            return True
        return False

    def is_unstable(self, way: Way, k: int) -> bool:
        """Whether an expected result changes with the last bits of the point."""
        bits = 1e-6 if self.single else 1e-13
        base = {"value": "gradient"}.get(way.of, way.of)
        reference = REFERENCES[base]
        results = []
        for s in (-3, -1, 1, 3):
            f, _ = self.program.make()
            try:
                g = reference.make(f, self.v)
                if self.lasting:
                    for x in self.points[:k]:
                        g(x)
                x = self.points[k]
                results.append(g((x * (1 + s * bits)).astype(x.dtype)))
            except Exception:
                return False
        expected = self.expected[base][k] if base in self.expected else results[0]
        return not all(near(r, expected, 1e-3 if self.single else 1e-5) for r in results)

    def run(self, extra: int) -> None:
        """Compare the program in some of the ways."""
        counts = self.report.counts
        counts["programs"] += 1
        counts[self.program.kind] += 1
        try:
            with limited():
                paths = self.paths()
        except (Exception, TooLong) as error:
            counts[f"plain {type(error).__name__}"] += 1
            return
        counts["programs with several ways"] += len(set(paths)) > 1
        gradients = self.results("grad", REFERENCES["gradient"])
        if gradients is None:
            return
        self.expected["gradient"] = gradients
        self.expected["slope"] = [np.sum(np.real(np.conj(g) * self.v)) for g in gradients]
        for k in (0, 3) if not self.single else ():
            d = self.difference(self.plain(k), self.points[k], self.v)
            counts["differences" if d else "no differences"] += 1
            if d and not abs(d[0] - self.expected["slope"][k]) <= d[1]:
                if not self.is_unstable(WAYS["jvp"], k):
                    self.wrong(f"grad along v {self.expected['slope'][k]}, differences {d} at {k}")
        self.more(extra, paths)

    def more(self, extra: int, paths: list[int]) -> None:
        """Compare with the gradient, and second derivatives with differences of it."""
        random = Random(self.program.seed)
        first = [n for n, w in WAYS.items() if w.of in ("value", "gradient", "slope")]
        second = [n for n, w in WAYS.items() if w.of in ("product", "hessian")]
        engine = random.choice(("numpy", "llvm", "auto"))
        chosen = [f"jit, {engine}", f"jit of grad, {engine}", *random.sample(first, extra)]
        if self.program.dtype == "float64" and random.random() < 0.6:
            chosen += random.sample(second, extra)
            if not self.second():
                return
        for name in dict.fromkeys(chosen):
            way = WAYS[name]
            if self.lasting and way.compiled or way.of not in self.expected:
                continue
            found = self.results(name, way)
            for k, y in enumerate(found or ()):
                if not self.agrees(name, way, k, y):
                    self.wrong(f"{name} at point {k}: {y}, not {self.expected[way.of][k]}")
                    break
        if not self.lasting:
            self.batches(paths, random)

    def second(self) -> bool:
        """Find the expected second derivatives, and hold them against differences."""
        found = self.results("hvp", REFERENCES["product"])
        if found is None:
            return True
        self.expected["product"] = found
        if self.program.n <= 3 and (hessians := self.results("hessian", REFERENCES["hessian"])):
            self.expected["hessian"] = hessians
            for k, h in enumerate(hessians):
                if not self.agrees("hessian @ v", REFERENCES["product"], k, h @ self.v):
                    self.wrong(f"hessian at point {k}: {h @ self.v}, hvp {found[k]}")
        k = 1
        if self.lasting:
            return True
        gradient = FD.grad(self._f)
        d = self.difference(gradient, self.points[k], self.v)
        if d and not np.all(np.abs(d[0] - found[k]) <= 10 * d[1] + 1e-6):
            if not self.is_unstable(REFERENCES["product"], k):
                self.wrong(f"hvp {found[k]}, differences {d} at {k}")
        return True

    def batches(self, paths: list[int], random: Random) -> None:
        """Compare a batch with a loop: points of one way must do, others may be refused."""
        near_by = [self.points[0] * (1 + 1e-9 * k) for k in range(3)]
        near_by = [x.astype(self.points[0].dtype) for x in near_by]
        for points, one_way in ((near_by, True), (self.points[:3], len(set(paths[:3])) == 1)):
            f, _ = self.program.make()
            g = FD.vmap(FD.grad(f))
            if random.random() < 0.5:
                g = FD.jit(g)
            try:
                with limited():
                    found = g(np.stack(points))
            except (Exception, TooLong) as error:
                kind = "one way" if one_way else "several ways"
                message = re.sub(r"[-0-9.]+|t\d+|'.*?'", "#", str(error).split("\n")[0])[:90]
                self.report.refuse(self.program.seed, f"vmap of {kind}: {type(error).__name__}: {message}")
                if not isinstance(error, fd.errors.FuncdiffError):
                    self.wrong(f"vmap raises {type(error).__name__}: {error}")
                continue
            self.report.counts["batches"] += 1
            for k, y in enumerate(found):
                if one_way and points is near_by:
                    expected = self.expected["gradient"][0]
                    same = near(y, expected, 1e-2 if self.single else 1e-6)
                else:
                    expected = self.expected["gradient"][k]
                    same = near(y, expected, self.tolerance)
                if np.all(np.isfinite(expected)) and not same:
                    if not self.is_unstable(WAYS["vjp"], 0 if points is near_by else k):
                        self.wrong(f"vmap at {k}: {y}, not {expected}")
                        break


REFERENCES: Final = {
    "gradient": Way("gradient", lambda f, v: FD.grad(f), False),
    "slope": WAYS["jvp"],
    "product": WAYS["hvp"],
    "hessian": WAYS["hessian"],
}


@contextmanager
def limited() -> Iterator[None]:
    """Raise `TooLong` after `SECONDS` of processor time."""

    def late(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def early(which: str) -> Iterator[None]:
    """Look for loops after two ways, or after two decisions of the first one."""
    before = getattr(executables, which)
    setattr(executables, which, 2)
    try:
        yield
    finally:
        setattr(executables, which, before)


def compare(seed: int, report: Report, extra: int = 1) -> None:
    """Compare the program of a seed."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with early(("_FEW", "_LONG")[seed % 2]):
            Comparison(write(seed), report).run(extra)


def main(first: int, last: int) -> None:
    """Run programs, and print what became of them."""
    report = Report()
    started = time.process_time()
    rerolled = rerolling.scan

    def scan(*args: Any, **kwargs: Any) -> Any:
        report.counts["loops found in recordings"] += 1
        return rerolled(*args, **kwargs)

    rerolling.scan = scan
    for seed in range(first, last):
        known = len(report.wrong)
        try:
            compare(seed, report)
        except Exception as error:
            traceback.print_exc()
            report.wrong.append(f"seed {seed}: the comparison raised {error!r}")
        for text in report.wrong[known:]:
            print("WRONG", text, flush=True)
        if seed % 100 == 99:
            print(seed, f"{time.process_time() - started:.0f} s", dict(report.counts), flush=True)
    print(dict(report.counts))
    for what, seeds in sorted(report.refused.items(), key=lambda x: -len(x[1])):
        print(len(seeds), what, seeds[:4])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
