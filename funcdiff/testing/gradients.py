"""`check_grads`: the derivatives of a function against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.api.derivatives.linear_maps import jvp, vjp
from funcdiff.errors import InputError, user_location
from funcdiff.testing.directions import check_forward, check_reverse
from funcdiff.testing.neighbourhood import Neighbourhood
from funcdiff.testing.quotients import Accuracy
from funcdiff.testing.subject import Subject, take_apart, tangent, weights
from funcdiff.testing.triangles import square, symmetric_arguments, symmetrize

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
    directions: int = 128,
    progress: bool | None = None,
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
        counts.  Unless given, `atol` is five times the measured error of the differences, and
        `rtol` follows from the dtypes.
    eps
        The step of the differences, relative to the size of the arguments; unless given, several
        are tried.
    directions
        Where they differ: how many directions are tried at most in search of the entries, each for
        some calls of `f`.  To find one of a million takes forty.
    progress
        Whether to say on stderr how far the check is: True by a bar of tqdm where that is
        installed, None by lines, if it takes more than five seconds.

    Raises
    ------
    AssertionError
        If they differ by more than the errors of both, or differences do not settle as their
        steps shrink.  The message names the leaves and entries that disagree and gives both
        numbers; it says how many entries it has not looked at.
    InputError
        If nothing can be differentiated, a mode is unknown, or the order is less than 1.

    See Also
    --------
    check_vjp, check_jvp : the same for a derivative that is given.

    Notes
    -----
    Entries move by fractions of the size of their array (of their own size, where those differ
    much; of 1 in an array of zeros).  From quotients of several steps an extrapolated one is
    made, and an estimate of its error, into which goes by how much `f` changes where its
    arguments change in their last bit.

    Differences know nothing of kinks: keep the point away from those of `f`.

    Where a function reads one triangle of a symmetric matrix, as `eigh` and `cholesky` do, and
    its derivative is symmetric, directions are symmetric, too.

    References
    ----------
    C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", Advances in Engineering
    Software 4 (1982), on extrapolated differences and their errors.

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
    subject, _, xs = take_apart(f, args, "check_grads", directions=directions, progress=progress)
    _check(subject, xs, order, modes, Accuracy(rtol, atol, eps), np.random.default_rng(0))


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
    ts = tangent(xs, random)
    vs = weights(f.call(xs), random)
    # next to symmetric matrices, derivatives agree with those at them in what is symmetric
    many = order > 1 and square(xs)
    even = symmetric_arguments(Neighbourhood(f.call, xs)) if many else []
    if "forward" in modes:
        check_forward(
            f, xs, lambda at, moved: _forward_derivative(f, moved).call(at), accuracy, "jvp"
        )
        pushed = _forward_derivative(f, symmetrize(ts, even))
        _check(pushed, xs, order - 1, modes, accuracy, random)
    if "reverse" in modes:
        pulled = _reverse_derivative(f, vs)
        check_reverse(f, xs, vs, pulled.call, accuracy, "vjp")
        even_parts = pulled._replace(call=lambda at: symmetrize(pulled.call(at), even))
        _check(even_parts, xs, order - 1, modes, accuracy, random)


def _forward_derivative(f: Subject, ts: Sequence[Any]) -> Subject:
    return f._replace(
        call=lambda xs: jvp(lambda *zs: f.call(zs), tuple(xs), tuple(ts))[1],
        name=f"the jvp of {f.name}",
    )


def _reverse_derivative(f: Subject, vs: list[Any]) -> Subject:
    return f._replace(
        call=lambda xs: list(vjp(lambda *zs: f.call(zs), *xs)[1](vs)),
        name=f"the vjp of {f.name}",
        outputs=[f"gradient of {path}" for path in f.inputs],
    )
