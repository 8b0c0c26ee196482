"""`check_jvp`, `check_vjp`: checks hand-written derivatives against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.pytree.walks import MismatchError, leaves_like
from funcdiff.testing.differences import Values, disagreement, rounding
from funcdiff.testing.directions import check_forward, check_reverse
from funcdiff.testing.quotients import Accuracy
from funcdiff.testing.subject import smooth_leaves, take_apart, tangent, weights


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
        raise AssertionError(
            f"{what}{error.path} has structure {error.found}, not {error.expected}"
        ) from None


def _same_value(expected: Any, got: Any, what: str) -> None:
    """Compare the value that comes with a derivative with that of the function."""
    wanted = dict(smooth_leaves(expected))
    for path, leaf in smooth_leaves(_like(expected, got, f"the value with {what}")):
        fault = disagreement(leaf, wanted[path], rounding([leaf, wanted[path]]))
        if fault:
            raise AssertionError(f"the value with {what} differs: result{path}, {fault} of f")
