"""Problems with known optima in Ipopt itself, by callbacks in the protocol of cyipopt.

``python -m pytest tests/programs/in_ipopt.py`` with the extra ``bench``: CasADi brings the library,
which is called as cyipopt calls it.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Final

import casadi
import numpy as np
import pytest

import funcdiff as fd
from tests.programs.hock_schittkowski import PROBLEMS, Problem

_LIBRARY: Final = ctypes.CDLL(str(next(Path(casadi.__file__).parent.glob("libipopt.so*"))))
_NUMBERS: Final = ctypes.POINTER(ctypes.c_double)
_PLACES: Final = ctypes.POINTER(ctypes.c_int)
_INT, _BOOL, _DATA = ctypes.c_int, ctypes.c_bool, ctypes.c_void_p
_VALUE: Final = ctypes.CFUNCTYPE(_BOOL, _INT, _NUMBERS, _BOOL, _NUMBERS, _DATA)
_VALUES: Final = ctypes.CFUNCTYPE(_BOOL, _INT, _NUMBERS, _BOOL, _INT, _NUMBERS, _DATA)
_FIRST: Final = ctypes.CFUNCTYPE(
    _BOOL, _INT, _NUMBERS, _BOOL, _INT, _INT, _PLACES, _PLACES, _NUMBERS, _DATA
)
_SECOND: Final = ctypes.CFUNCTYPE(
    _BOOL, _INT, _NUMBERS, _BOOL, ctypes.c_double, _INT, _NUMBERS, _BOOL, _INT, _PLACES, _PLACES,
    _NUMBERS, _DATA,
)  # fmt: skip


def numbers(x: Any) -> Any:
    """Return the pointer to an array of floats."""
    return x.ctypes.data_as(_NUMBERS)


def array(pointer: Any, length: int) -> Any:
    """Return the array that a pointer points to."""
    return np.ctypeslib.as_array(pointer, (length,)) if length else np.zeros(0)


def solve(program: Any, start: Any) -> tuple[int, Any, Any, Any, int]:
    """Return status, vector, multipliers of constraints and of bounds, and evaluations."""
    q, (n, m) = program.problem(), (len(program.start), len(program.cbounds[0]))
    places = {"jacobian": q.jacobianstructure(), "hessian": q.hessianstructure()}
    count = [0]

    def value(n: int, x: Any, new: bool, out: Any, _: Any) -> bool:
        count[0] += 1
        out[0] = q.objective(array(x, n))
        return bool(np.isfinite(out[0]))

    def gradient(n: int, x: Any, new: bool, out: Any, _: Any) -> bool:
        array(out, n)[:] = q.gradient(array(x, n))
        return True

    def constraints(n: int, x: Any, new: bool, m: int, out: Any, _: Any) -> bool:
        array(out, m)[:] = q.constraints(array(x, n))
        return bool(np.all(np.isfinite(array(out, m))))

    def fill(name: str, length: int, rows: Any, columns: Any, out: Any, *args: Any) -> bool:
        if not out:
            for target, found in zip((rows, columns), places[name], strict=True):
                np.ctypeslib.as_array(target, (length,))[:] = found
        elif length:
            array(out, length)[:] = getattr(q, name)(*args)
        return True

    def first(
        n: int, x: Any, new: bool, m: int, length: int, rows: Any, columns: Any, out: Any, _: Any
    ) -> bool:
        return fill("jacobian", length, rows, columns, out, array(x, n) if x else None)

    def second(
        n: int, x: Any, new: bool, factor: float, m: int, weights: Any, fresh: bool, length: int,
        rows: Any, columns: Any, out: Any, _: Any,
    ) -> bool:  # fmt: skip
        point = (array(x, n), array(weights, m), factor) if out else ()
        return fill("hessian", length, rows, columns, out, *point)

    limits = [np.clip(end, -2e19, 2e19) for end in (*program.bounds, *program.cbounds)]
    kept = _VALUE(value), _VALUES(constraints), _VALUE(gradient), _FIRST(first), _SECOND(second)
    lengths = (len(places["jacobian"][0]), len(places["hessian"][0]))
    _LIBRARY.CreateIpoptProblem.restype = ctypes.c_void_p
    problem = ctypes.c_void_p(
        _LIBRARY.CreateIpoptProblem(
            n, *map(numbers, limits[:2]), m, *map(numbers, limits[2:]), *lengths, 0, *kept
        )
    )
    _LIBRARY.AddIpoptIntOption(problem, b"print_level", 0)
    _LIBRARY.AddIpoptStrOption(problem, b"sb", b"yes")
    _LIBRARY.AddIpoptNumOption(problem, b"tol", ctypes.c_double(1e-10))
    _LIBRARY.AddIpoptNumOption(problem, b"bound_relax_factor", ctypes.c_double(0.0))
    x, g, weights, low, high = start.copy(), *np.zeros((2, m)), *np.zeros((2, n))
    objective = np.zeros(1)
    status = _LIBRARY.IpoptSolve(
        problem, *map(numbers, (x, g, objective, weights, low, high)), None
    )
    _LIBRARY.FreeIpoptProblem(problem)
    return status, x, weights, high - low, count[0]


LOCAL: Final = (16,)
"""Problems of which it finds another local optimum."""
DEPENDENT: Final = (30,)
"""Problems with more than one set of multipliers."""


@pytest.mark.parametrize(
    "problem", [p for p in PROBLEMS if p.number not in LOCAL], ids=lambda p: str(p.number)
)
def test_ipopt_finds_the_known_optimum(problem: Problem) -> None:
    program = problem.nlp()
    status, z, weights, of_bounds, _ = solve(program, program.start)
    found = program.solution(z)
    assert status in (0, 1)
    assert abs(found.value - problem.optimum) <= 1e-6 * max(1.0, abs(problem.optimum))
    assert found.success
    if problem.number not in DEPENDENT:
        size = 1e-5 * max(1.0, np.max(np.abs(program.functions.at(z).gradient)))
        np.testing.assert_allclose(program.vector(found.bound_multipliers), of_bounds, atol=size)
        if len(weights):
            multipliers = fd.ravel_pytree(found.multipliers)[0]
            np.testing.assert_allclose(multipliers, weights, atol=size)
