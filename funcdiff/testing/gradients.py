"""`check_grads`, `check_jvp`, `check_vjp`: derivatives against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.derivatives.linear_maps import jvp, vjp
from funcdiff.core.tracebacks import public
from funcdiff.errors import InputError, user_location
from funcdiff.pytree.structure import MismatchError, leaves_like
from funcdiff.testing.directions import (
    check_forward,
    check_reverse,
    square,
    symmetric_arguments,
    symmetrize,
)
from funcdiff.testing.quotients import Accuracy, Neighbourhood
from funcdiff.testing.subject import (
    Subject,
    Values,
    disagreement,
    rounding,
    smooth_leaves,
    take_apart,
    tangent,
    weights,
)

MODES: Final = ("forward", "reverse")


@public
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


# ---- `check_jvp`, `check_vjp`: checks hand-written derivatives against central differences -------


@public
def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, Any]],
    args: Sequence[Any],
    *,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    directions: int = 128,
) -> None:
    """Assert that a JVP equals central differences of its function, along random directions.

    Parameters
    ----------
    f
        Function of arrays and containers, returning arrays and containers.
    f_jvp
        ``f_jvp(primals, tangents) -> (y, ty)``, as a rule for `custom_jvp` is written, or
        ``functools.partial(fd.jvp, f)``, to check what `f` has already.
    args
        The point, a tuple with one entry per argument.  Integers have zero tangents.
    atol, rtol, eps, directions
        As of `check_grads`.

    Raises
    ------
    AssertionError
        If ``y`` is not ``f(*args)`` or ``ty`` not its derivative; the message names the leaves
        and the entries that disagree.
    InputError
        If nothing can be differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> from funcdiff.testing import check_jvp
    >>> def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return np.sin(x), np.cos(x) * t
    >>> check_jvp(np.sin, rule, (np.array([0.3, 1.2]),))
    """
    subject, point, xs = take_apart(f, args, "check_jvp", directions=directions)
    primals = point.arguments(xs)

    def push_at(at: Sequence[Any], ts: Sequence[Any]) -> tuple[Any, Any]:
        returned = f_jvp(point.arguments(at), point.tangents(ts))
        return _pair(returned, f"the jvp of {subject.name}", "(y, ty)")

    def push(at: Sequence[Any], ts: Sequence[Any]) -> Values:
        y, ty = push_at(at, ts)
        found = dict(pytree.flatten_with_paths(_like(y, ty, f"the tangent of {subject.name}"))[0])
        return [found[path] for path, _ in smooth_leaves(y)]

    value = push_at(xs, tangent(xs, np.random.default_rng(0)))[0]
    _same_value(f(*primals), value, f"the jvp of {subject.name}")
    check_forward(subject, xs, push, Accuracy(rtol, atol, eps), "jvp")


@public
def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple[Any, Callable[[Any], tuple[Any, ...]]]],
    args: Sequence[Any],
    *,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    directions: int = 128,
) -> None:
    """Assert that a VJP equals central differences of its function, along random directions.

    Parameters
    ----------
    f
        Function of arrays and containers, returning arrays and containers.
    f_vjp
        ``f_vjp(*args) -> (y, pullback)`` where ``pullback(v)`` returns a tuple with one entry
        per argument, ``Jᴴ·v``.  Typically ``functools.partial(fd.vjp, f)``, to check the rule
        that `f` was given.
    args
        The point, a tuple with one entry per argument.
    atol, rtol, eps, directions
        As of `check_grads`.

    Raises
    ------
    AssertionError
        If ``y`` is not ``f(*args)`` or the pullback not its adjoint derivative; the message
        names the leaves and the entries that disagree.
    InputError
        If nothing can be differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> from funcdiff.testing import check_vjp
    >>> def sine(x):
    ...     return np.sin(x), lambda v: (v * np.cos(x),)
    >>> check_vjp(np.sin, sine, (np.array([0.3, 1.2]),))
    """
    subject, point, xs = take_apart(f, args, "check_vjp", directions=directions)
    primals = point.arguments(xs)
    what = f"the vjp of {subject.name}"
    y, _ = _pair(f_vjp(*primals), what, "(y, pullback)")
    _same_value(f(*primals), y, what)
    pairs, structure = pytree.flatten_with_paths(y)
    smooth = smooth_leaves(y)
    vs = weights([leaf for _, leaf in smooth], np.random.default_rng(0))
    given = dict(zip([path for path, _ in smooth], vs, strict=True))
    cotangent = pytree.unflatten(structure, [given.get(path, leaf) for path, leaf in pairs])

    def pull(at: Sequence[Any]) -> Values:
        arguments = point.arguments(at)
        pulled = _pair(f_vjp(*arguments), what, "(y, pullback)")[1](cotangent)
        gradient, _ = pytree.flatten(_like(arguments, pulled, f"the gradient of {subject.name}"))
        return [gradient[k] for k in point.chosen]

    check_reverse(subject, xs, vs, pull, Accuracy(rtol, atol, eps), "vjp")


def _pair(result: Any, what: str, form: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise AssertionError(f"{what} returned a {type(result).__name__}, not a pair {form}")
    return result


def _like(tree: Any, other: Any, what: str) -> Any:
    """Return `other` with its dicts in the order of those of `tree`, which it has to match."""
    structure = pytree.flatten(tree)[1]
    try:
        return pytree.unflatten(structure, leaves_like(structure, other))
    except MismatchError as error:
        raise AssertionError(f"{what}{error.path} is {error.found}, not {error.expected}") from None


def _same_value(expected: Any, got: Any, what: str) -> None:
    """Compare the value that comes with a derivative with that of the function."""
    wanted = dict(smooth_leaves(expected))
    for path, leaf in smooth_leaves(_like(expected, got, f"the value with {what}")):
        fault = disagreement(leaf, wanted[path], rounding([leaf, wanted[path]]))
        if fault:
            raise AssertionError(f"the value with {what} differs: result{path}, {fault} of f")
