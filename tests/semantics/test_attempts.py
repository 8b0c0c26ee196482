"""Random programs that try what may raise do the same under every transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from tests.semantics.attempts import program
from tests.together import together

Function = Callable[[Any], Any]

TRANSFORMS: Final[dict[str, Callable[[Function], Function]]] = {
    "grad": lambda f: lambda x: fd.value_and_grad(f)(x)[0],
    "jit": fd.jit,
    "jit of grad": lambda f: _first(fd.jit(fd.value_and_grad(f))),
    "grad of jit": lambda f: _first(fd.value_and_grad(fd.jit(f))),
    "vmap": lambda f: lambda x: fd.vmap(f)(np.stack([x, x]))[1],
}


def _first(f: Function) -> Function:
    return lambda x: f(x)[0]


def _outcome(f: Function, x: Any) -> tuple[float, str]:
    with np.errstate(all="ignore"):
        try:
            return float(f(x)), ""
        except Exception as error:
            return 0.0, type(error).__name__


@pytest.mark.slow
@together
@pytest.mark.parametrize("seed", range(100))
def test_random_attempts_do_the_same_under_every_transform(seed: int) -> None:
    f, text = program(seed)
    random = np.random.default_rng(seed)
    points = [random.uniform(-1, 1.6, 3) for _ in range(3)]
    for name, transform in TRANSFORMS.items():
        transformed = transform(f)
        for x in points + points:
            wanted, found = _outcome(f, x), _outcome(transformed, x)
            if wanted[1]:
                assert found[1], (name, wanted, found, text)
            else:
                np.testing.assert_allclose(found[0], wanted[0], 1e-9, err_msg=f"{name} {text}")
                assert not found[1], (name, found, text)
