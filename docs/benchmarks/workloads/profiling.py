"""Where one workload spends its time: the generated source line by line, and Python's profile.

Started by ``python -m docs.benchmarks.workloads --profile NAME``.
"""

from __future__ import annotations

import builtins
import cProfile
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Final

import funcdiff as fd
from docs.benchmarks.workloads.in_numpy import by_hand, funcdiff_eager, funcdiff_jit
from docs.benchmarks.workloads.registry import chosen
from docs.benchmarks.workloads.timing import WARM_CALLS, timed
from docs.benchmarks.workloads.workload import Function, Workload

LONGEST: Final = 400
"""Lines of source that are printed."""
SHOWN: Final = 30
"""Entries of each profile."""
SECONDS: Final = 1.0
"""How long each profile runs."""

Place = tuple[str, int]


class Sources:
    """The texts that were compiled, by the names of their files."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self._compile: Callable[..., Any] = builtins.compile

    def compile(self, text: Any, name: Any, *rest: Any, **options: Any) -> Any:
        """Do what the builtin does, and keep the text of generated programs."""
        if isinstance(text, str) and str(name).startswith("<funcdiff"):
            self.lines[name] = text.splitlines()
        return self._compile(text, name, *rest, **options)

    def line(self, place: Place) -> str:
        """Return a line of a program."""
        name, number = place
        return self.lines[name][number - 1].strip() if name in self.lines else f"{name}:{number}"


def seconds_by_line(call: Callable[[], Any], number: int) -> Counter[Place]:
    """Return the seconds between the beginnings of the lines of generated programs."""
    spent: Counter[Place] = Counter()
    last: list[Any] = [None, 0.0]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith("<funcdiff"):
            return None
        now = time.perf_counter()
        if last[0] is not None:
            spent[last[0]] += now - last[1]
        last[0] = None if event == "return" else (frame.f_code.co_filename, frame.f_lineno)
        last[1] = time.perf_counter()
        return trace

    sys.settrace(trace)
    try:
        for _ in range(number):
            call()
            last[0] = None
    finally:
        sys.settrace(None)
    return Counter({place: total / number for place, total in spent.items()})


def profile_calls(call: Callable[[], Any], number: int) -> None:
    """Print Python's profile of some calls."""
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(number):
        call()
    profile.disable()
    pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(SHOWN)


def report(w: Workload) -> None:
    """Print the source of the compiled derivative, and where the time goes."""
    sources, arguments = Sources(), w.drawn()
    fd.clear_caches()
    setattr(builtins, "compile", sources.compile)  # noqa: B010  (it is overloaded)
    derivatives: dict[str, Function] = {
        "by hand": by_hand(w),
        "fd.jit": funcdiff_jit(w),
        "fd": funcdiff_eager(w),
    }
    calls = {name: partial(d, *arguments) for name, d in derivatives.items()}
    print(w.name)
    numbers = {}
    for name, call in calls.items():
        once = min(timed(call, 1) for _ in range(WARM_CALLS + 2))
        numbers[name] = max(1, int(SECONDS / once))
        print(f"  {name:8} {once * 1e3:10.4f} ms")
    for name, lines in sources.lines.items():
        print(f"\n{name}, {len(lines)} lines\n" + "\n".join(lines[:LONGEST]))
    print("\nfd.jit by line (tracing costs about a microsecond a line)")
    spent = seconds_by_line(calls["fd.jit"], numbers["fd.jit"])
    whole = sum(spent.values())
    for place, total in spent.most_common(SHOWN):
        print(f"  {total * 1e6:10.1f} µs {total / whole:6.1%}  {sources.line(place)}")
    for name in ("fd.jit", "fd"):
        print(f"\n{name}, {numbers[name]} calls")
        profile_calls(calls[name], numbers[name])


if __name__ == "__main__":
    for workload in chosen(sys.argv[1:]):
        report(workload)
