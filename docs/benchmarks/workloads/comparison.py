"""Two runs side by side, by what funcdiff takes in units of the gradient written by hand."""

from __future__ import annotations

import math
from typing import Any

from docs.benchmarks.workloads.ratios import OURS
from docs.benchmarks.workloads.timing import Figures


def ratios(run: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Return the time over that by hand, for each workload and way of funcdiff's."""
    found = {}
    for figures in (Figures(**w) for w in run["workloads"]):
        for name in OURS:
            ratio = figures.ratio(name, "by hand")
            if ratio is not None:
                found[figures.name, name] = ratio
    return found


def compare(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """Print what changed between two runs, for each setting in both."""
    by_setting = {(run["threads"], run.get("bits")): run for run in before}
    for run in after:
        setting = run["threads"], run.get("bits")
        if setting not in by_setting:
            continue
        old, new = ratios(by_setting[setting]), ratios(run)
        print(f"{setting[0]} thread(s), {setting[1]} bits: time over that by hand, old and new")
        for key in new:
            if key in old:
                name, way = key
                change = old[key] / new[key]
                mark = "" if 0.9 < change < 1.1 else f"   {change:.2f} x as fast"
                print(f"  {name:44} {way:7} {old[key]:9.2f} {new[key]:9.2f}{mark}")
        logs = [math.log(old[key] / new[key]) for key in new if key in old]
        if logs:
            mean = math.exp(sum(logs) / len(logs))
            print(f"  geometric mean of the changes: {mean:.3f} x as fast")
