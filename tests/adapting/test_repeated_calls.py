"""Adapted functions that only compute are not traced again; what changes between calls is seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.adapting.copies import BUILTINS, module_for
from funcdiff.adapting.rewriting import rewrite
from funcdiff.api.calls import differentiated, tracing
from tests.api.changing_programs import TRANSFORMS, WAYS, compare, program, way

POWER = 2.0


def adapting(transform: Any) -> Callable[..., Any]:
    """Let a transform adapt the function that it is given."""
    return lambda f, x, *given: transform(fd.adapt(f), x, *given)


@pytest.mark.thinned(12)
@pytest.mark.parametrize("name", WAYS)
def test_what_decides_in_another_way_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(way(name), adapting(TRANSFORMS["grad"]), monkeypatch)
    compare(way(name), TRANSFORMS["grad"], monkeypatch, adapted=True)


@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_random_changes_of_random_programs_are_seen(
    transform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(6):
        found = program(f"adapted {transform} {seed}")
        compare(found, TRANSFORMS[transform], monkeypatch, adapted=True)
        compare(found, adapting(TRANSFORMS[transform]), monkeypatch)


def functions() -> tuple[Callable[[Any], Any], ...]:
    """Return functions that no module has under a name, as those of a script."""

    def a_power(x: Any) -> Any:
        return np.sum(np.power(np.asarray(x, dtype=float), POWER)) * math.pi

    def in_place(x: Any) -> Any:
        y = np.zeros(3)
        y[0] = x
        y += float(x) * 2
        return np.clip(y, 0, 99).dot(y)

    return fd.adapt(a_power), fd.adapt(in_place)


MODULE = """
import math
import numpy as np
POWER = 2.0
def a_power(x):
    return np.sum(np.power(np.asarray(x, dtype=float), POWER)) * math.pi
"""


def test_what_only_computes_is_not_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = []
    record = tracing.record

    def noting(f: Any, *args: Any, **keywords: Any) -> Any:
        traced.append(f)
        return record(f, *args, **keywords)

    monkeypatch.setattr(differentiated, "record", noting)
    module: dict[str, Any] = {"__builtins__": BUILTINS, "np": module_for("numpy")}
    exec(rewrite(MODULE, "adapted"), module)
    a_power, in_place = functions()
    slopes = {a_power: 6 * math.pi, in_place: 102.0, module["a_power"]: 6 * math.pi}
    for f, slope in slopes.items():
        traced.clear()
        for _ in range(9):
            np.testing.assert_allclose(fd.grad(f)(3.0), slope, 1e-14)
        assert len(traced) == 3  # in the second call twice
    for names, f in [(globals(), a_power), (module, module["a_power"])]:
        monkeypatch.setitem(names, "POWER", 3.0)
        np.testing.assert_allclose(fd.grad(f)(3.0), 27 * math.pi, 1e-14)
