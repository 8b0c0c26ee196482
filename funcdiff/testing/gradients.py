"""`check_grads`: the derivatives of a function against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.api.products import jvp, vjp
from funcdiff.errors import InputError, user_location
from funcdiff.testing.differences import direction
from funcdiff.testing.directions import (
    Accuracy,
    Subject,
    check_forward,
    check_reverse,
    taken_apart,
)

MODES: Final = ("forward", "reverse")


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = MODES,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Assert that the derivatives of `f` at a point equal central differences.

    Along random directions `t` and `v` it compares `jvp` with ``d/dh f(x + h·t)`` and `vjp` with
    ``d/dh Re⟨v, f(x + h·t)⟩``, then does the same with these derivatives, as functions of the
    point, up to the given order.

    Parameters
    ----------
    f
        Function of arrays and containers, returning arrays and containers.
    args
        The point, one entry per argument.  Floating and complex leaves are differentiated; all
        others (integers, strings) stay as they are.
    order
        Up to which derivative; 2 checks second derivatives in all mixes of the modes.
    modes
        ``"forward"`` (jvp), ``"reverse"`` (vjp), or both.
    atol, rtol
        The difference that is allowed, absolute and relative to the largest entry; the larger
        counts.  Both follow from the dtypes unless given.
    eps
        The step of the differences; it follows from the dtypes unless given.

    Raises
    ------
    AssertionError
        If they differ by more than the dtype explains.  The message names the leaves and the
        entries that disagree and gives both numbers.
    InputError
        If nothing can be differentiated, a mode is unknown, or the order is less than 1.

    See Also
    --------
    check_vjp, check_jvp : the same for a derivative that is given.

    Notes
    -----
    Differences know nothing of kinks: keep the point away from those of `f` by more than 0.001
    (float32: by 0.1), and its second derivatives of moderate size.

    References
    ----------
    W. Squire, G. Trapp, "Using Complex Variables to Estimate Derivatives of Real Functions",
    SIAM Review 40 (1998), on the errors of differences.

    Examples
    --------
    >>> import numpy as np
    >>> from funcdiff.testing import check_grads
    >>> check_grads(lambda p: np.tanh(p["w"] @ p["x"]), [{"w": np.eye(2), "x": np.ones(2)}])
    """
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown or isinstance(modes, str) or not modes:
        raise InputError(
            f"check_grads: modes={modes!r} is not made of {MODES}, at {user_location()}. "
            f"Give a tuple, such as modes=('reverse',)."
        )
    if order < 1:
        raise InputError(
            f"check_grads: order={order} checks nothing, at {user_location()}. Give the order of "
            "the highest derivative to check, such as order=2."
        )
    subject, _, xs = taken_apart(f, args, "check_grads")
    accuracy = Accuracy(rtol, atol, eps)
    _check(subject, xs, order, modes, accuracy, np.random.default_rng(0))


def _check(
    f: Subject,
    xs: list[Any],
    order: int,
    modes: Sequence[str],
    accuracy: Accuracy,
    random: np.random.Generator,
) -> None:
    if order < 1:
        return
    ts = [direction(x, random) for x in xs]
    vs = [direction(y, random) for y in f.call(xs)]
    if "forward" in modes:
        check_forward(
            f, xs, ts, lambda moved: _forward_derivative(f, moved).call(xs), accuracy, "jvp"
        )
        _check(_forward_derivative(f, ts), xs, order - 1, modes, accuracy, random)
    if "reverse" in modes:
        pulled = _reverse_derivative(f, vs)
        check_reverse(f, xs, ts, vs, pulled.call(xs), accuracy, "vjp")
        _check(pulled, xs, order - 1, modes, accuracy, random)


def _forward_derivative(f: Subject, ts: Sequence[Any]) -> Subject:
    return Subject(
        lambda xs: jvp(lambda *zs: f.call(zs), tuple(xs), tuple(ts))[1],
        f"the jvp of {f.name}",
        f.inputs,
        f.outputs,
    )


def _reverse_derivative(f: Subject, vs: list[Any]) -> Subject:
    return Subject(
        lambda xs: list(vjp(lambda *zs: f.call(zs), *xs)[1](vs)),
        f"the vjp of {f.name}",
        f.inputs,
        [f"gradient of {path}" for path in f.inputs],
    )
