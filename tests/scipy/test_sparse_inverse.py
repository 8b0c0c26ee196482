"""An inverse problem: conductivities of a network, from the potentials that currents cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy import sparse as plain

import funcdiff as fd
from funcdiff.scipy import sparse
from funcdiff.testing import check_grads

SIDE = 4
NODES = SIDE * SIDE


def _incidence() -> Any:
    """Return which edge of a grid leads from which node to which."""
    steps = np.ones(SIDE - 1)
    line = plain.diags_array([-steps, steps], offsets=[0, 1], shape=(SIDE - 1, SIDE))
    unit = plain.eye_array(SIDE)
    return plain.vstack([plain.kron(unit, line), plain.kron(line, unit)]).tocsr()


D = _incidence()
CURRENTS = np.random.default_rng(3).normal(size=(NODES, 4))
"""Four experiments, each with a current into every node."""


def potentials(logarithms: Any, *, direct: bool = False) -> Any:
    """Solve Dᵀ·k·D·u + u/10 = f: Kirchhoff's law, with a leak to the ground at every node."""
    law = D.T @ (sparse.diags_array(np.exp(logarithms)) @ D) + 0.1 * plain.eye_array(NODES)
    if direct:
        return sparse.linalg.spsolve(law.tocsc(), CURRENTS)
    columns = [sparse.linalg.cg(law, f, rtol=1e-12)[0] for f in CURRENTS.T]
    return np.stack(columns, axis=1)


def test_both_solvers_give_one_slope() -> None:
    at = np.linspace(-1.0, 1.0, D.shape[0])
    by_cg, by_factors = (
        fd.grad(lambda x, direct=direct: np.sum(potentials(x, direct=direct) ** 2))(at)
        for direct in (False, True)
    )
    np.testing.assert_allclose(by_cg, by_factors, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_conductivities_are_found_from_potentials() -> None:
    truth = np.sin(np.arange(D.shape[0]))
    observed = potentials(truth, direct=True)

    def misfit(logarithms: Any) -> Any:
        return np.sum((potentials(logarithms) - observed) ** 2)

    check_grads(misfit, (0.5 * truth,), order=1)
    found = optimize.minimize(
        fd.value_and_grad(misfit), np.zeros(D.shape[0]), jac=True, method="L-BFGS-B",
        options={"maxiter": 300, "ftol": 1e-14, "gtol": 1e-9},
    )  # fmt: skip
    np.testing.assert_allclose(found.x, truth, atol=1e-2)
