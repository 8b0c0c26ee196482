"""Criteria of designs of experiments, differentiable in the design; the smaller, the better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from funcdiff.api.coordinates import on_vectors
from funcdiff.api.derivatives.jacobian import jacobian
from funcdiff.core.tracebacks import public
from funcdiff.errors import InputError, user_location
from funcdiff.uncertainty.standard_errors import SINGULAR, whiten

__all__ = ["criterion"]


def criterion(
    kind: Literal["D", "A", "E", "I"],
    model: Callable[[Any, Any], Any],
    params: Any,
    *,
    noise: Any = 1.0,
    weights: Any = None,
    at: Any = None,
) -> Callable[[Any], Any]:
    """Return a function of a design: how uncertain parameters are after such an experiment.

    With the information ``M(ξ) = Jᵀ·Σ⁻¹·J`` of the data that ``model(params, ξ)`` predicts:

    Parameters
    ----------
    kind
        ``"D"``: ``-log det M``; ``"A"``: ``tr M⁻¹``; ``"E"``: the largest eigenvalue of ``M⁻¹``;
        ``"I"``: the mean variance of predictions at the designs `at`.
    model
        ``model(params, xi)``: the expected data, an array or a container.
    params
        The parameters for which the design is made: a container.
    noise
        As for `fisher_information`.
    weights
        How often each datum is taken: numbers of shape ``(m,)``, 1 by default.
    at
        For ``"I"``: a design of the predictions that matter.

    Returns
    -------
    callable
        ``xi ↦`` a real number, to be minimised: infinite where the parameters are not determined.

    Raises
    ------
    InputError
        If `kind` is another one, or `at` is missing.

    References
    ----------
    Atkinson, A. C., Donev, A. N., and Tobias, R. D. (2007), Optimum experimental designs, with SAS.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> line = lambda p, t: p["a"] + p["b"] * t
    >>> D = fd.design.criterion("D", line, {"a": 1.0, "b": 2.0})
    >>> np.round(fd.grad(D)(np.array([-1.0, 0.5, 1.0])), 3)
    array([ 1.077, -0.308, -0.769])
    """
    if kind not in ("D", "A", "E", "I") or (kind == "I") != (at is not None):
        raise InputError(
            f"design.criterion: kind={kind!r}, at {user_location()}. Write 'I' with at=, or 'D', "
            "'A' or 'E' without it."
        )

    def rows(xi: Any) -> Any:
        g, x, _ = on_vectors(lambda p: model(p, xi), (params,), "design.criterion")
        return jacobian(g)(x)

    @public
    def of_design(xi: Any) -> Any:
        J = whiten(rows(xi), noise)
        if weights is not None and np.shape(weights) not in ((), (len(J),)):
            raise InputError(
                f"weights= of shape {np.shape(weights)} for {len(J)} data, at {user_location()}: "
                "give one for each."
            )
        M = J.T @ J if weights is None else J.T @ (np.reshape(weights, (-1, 1)) * J)
        scale = np.sqrt(np.maximum(np.diagonal(M), np.finfo(float).tiny))
        known = np.linalg.eigvalsh(M / scale / scale[:, None])[0] > SINGULAR * len(M)
        M = np.where(known, M, np.eye(len(M)))
        if kind == "D":
            value = -np.linalg.slogdet(M)[1]
        elif kind == "E":
            value = 1 / np.linalg.eigvalsh(M)[0]
        elif kind == "A":
            value = np.trace(np.linalg.inv(M))
        else:
            predicted = rows(at)
            value = np.mean(np.sum(predicted * np.linalg.solve(M, predicted.T).T, axis=1))
        return np.where(known, value, np.inf)[()]

    return of_design
