"""``autograd.extend``: functions that are not traced, with derivative rules of autograd's form.

Rules are kept as autograd keeps them, for a set of arguments: ``vjpmaker(argnums, ans, args,
kwargs)`` returns the function from a covector of `ans` to those of the arguments,
``jvpmaker(argnums, gs, ans, args, kwargs)`` the tangent of `ans`.  Either serves both modes, to any
order.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import suppress
from itertools import chain, count
from types import MethodType
from typing import Any, Final
from weakref import WeakSet

import numpy as np

from funcdiff import pytree
from funcdiff.api.rules.opaque_functions import OpaqueFunction
from funcdiff.api.rules.opaque_functions import primitive as opaque_function
from funcdiff.api.rules.rule_results import map_arrays
from funcdiff.autograd.box_classes import Box, getval, isbox
from funcdiff.autograd.differential_operators import NeedsRows, wants_matrix
from funcdiff.autograd.names import attributes
from funcdiff.autograd.spaces import VSpace, conj_leaves, match_dtypes, vspace
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, InputError, NotDifferentiableError, user_location
from funcdiff.numpy.border.values import concrete_value

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "primitive_jvps",
    "primitive_vjps",
    "vspace",
]


# ---- The rules of primitives, by function: ``primitive_vjps`` and ``primitive_jvps`` -------------


Maker = Callable[..., Any]


class Rules(MutableMapping[Any, Maker]):
    """The rules of primitives, by function; they are kept with these, and go with them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._functions: WeakSet[Any] = WeakSet()

    def __getitem__(self, fun: Any) -> Maker:
        found: Maker = getattr(fun, "__dict__", {})[self._name]
        return found

    def __setitem__(self, fun: Any, maker: Maker) -> None:
        setattr(fun, self._name, maker)
        self._functions.add(fun)

    def __delitem__(self, fun: Any) -> None:
        del getattr(fun, "__dict__", {})[self._name]
        self._functions.discard(fun)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


primitive_vjps, primitive_jvps = Rules("_vjp_rule"), Rules("_jvp_rule")


_SAME: Final = "same"
"""The JVP rule of a function that is linear in an argument: the function itself."""


class MissingRuleError(NotDifferentiableError, NotImplementedError):
    """A derivative was asked for by an argument for which a primitive has no rule."""


class primitive:  # noqa: N801
    """Declare a function that is not traced; works as a decorator.

    Parameters
    ----------
    f_raw
        Function of arrays and containers, called with plain values.  Its derivatives are those
        that `defvjp` or `defjvp` give it, by positional arguments.  It and its rules get arrays
        that they may change.

    Examples
    --------
    >>> import math
    >>> from funcdiff.autograd import grad
    >>> @primitive
    ... def cube(x):
    ...     return math.pow(x, 3)
    >>> defvjp(cube, lambda ans, x: lambda g: 3 * g * x**2)
    >>> print(grad(cube)(2.0))
    12.0
    """

    __name__: str
    _is_autograd_primitive = True

    def __init__(self, f_raw: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f_raw)
        self.fun = f_raw
        self._known: dict[Any, OpaqueFunction[..., Any]] = {}
        self._by_argument: dict[int, Maker | None] = {}

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; by traced arguments its rules are used."""
        boxes = [list(filter(isbox, pytree.flatten(x)[0])) for x in args]
        argnums = tuple(k for k, found in enumerate(boxes) if found)
        if not argnums:
            return self.fun(*args, **kwargs)
        asked = tuple(k for k in argnums if any(x.dtype.kind in "fc" for x in boxes[k]))
        vjp, jvp = primitive_vjps.get(self), primitive_jvps.get(self)
        if jvp is None and vjp is not None and asked and wants_matrix():
            raise NeedsRows
        has_values = all(map(_has_value, chain.from_iterable(boxes)))
        key = len(args), argnums, asked, has_values, vjp, jvp
        if key not in self._known:
            self._known[key] = self._with_rules(*key)
        given = [x if boxes[k] else _hashable(x) for k, x in enumerate(args)]
        return self._known[key](_hashable(kwargs), *given)

    # ---- deprecated ways to give rules --------------------------------------------------------

    def defvjp(self, vjpfun: Maker, argnum: int = 0) -> None:
        """Set the rule of an argument, ``vjpfun(g, ans, vs, gvs, *args, **kwargs)``; deprecated."""

        def maker(ans: Any, *args: Any, **kwargs: Any) -> Any:
            return lambda g: vjpfun(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        self._add_rules("defvjp", {argnum: maker})

    def defgrad(self, gradfun: Maker, argnum: int = 0) -> None:
        """Set the rule of an argument, ``gradfun(ans, *args, **kwargs)(g)``; deprecated."""
        self._add_rules("defgrad", {argnum: gradfun})

    def defvjp_is_zero(self, argnums: Iterable[int] = (0,)) -> None:
        """Say that derivatives are zero; deprecated."""
        self._add_rules("defvjp_is_zero", dict.fromkeys(argnums))

    def _add_rules(self, method: str, rules: dict[int, Maker | None]) -> None:
        warnings.warn(f"{self.__name__}.{method} is deprecated: use defvjp(f, ...)", stacklevel=3)
        self._by_argument |= rules
        defvjp(self, *self._by_argument.values(), argnums=self._by_argument)

    # ---- rules of funcdiff's form ----------------------------------------------------------------

    def _with_rules(
        self,
        arity: int,
        argnums: tuple[int, ...],
        asked: tuple[int, ...],
        has_values: bool,  # noqa: FBT001
        vjp: Maker | None,
        jvp: Maker | None,
    ) -> OpaqueFunction[..., Any]:
        """Return the function of ``(kwargs, *args)``, with rules by some of the arguments.

        Some are traced at `argnums`; rules are asked for those that have numbers with derivatives,
        as comparisons are no boxes in autograd.  Where these have no values, what the function
        returns is found by calling it with others.
        """
        fixed = [k for k in range(arity) if k not in argnums]

        @functools.wraps(self.fun)
        def call(kwargs: dict[str, Any], *args: Any) -> Any:
            return self.fun(*_unwrap(args), **_unwrap(kwargs))

        def call_on_samples(kwargs: dict[str, Any], *args: Any) -> Any:
            return self.fun(*[map_arrays(_sample, x) for x in _unwrap(args)], **_unwrap(kwargs))

        positions = (0, *[k + 1 for k in fixed])
        function = opaque_function(
            call, nondiff_argnums=positions, result=None if has_values else call_on_samples
        )

        def forward(kwargs: dict[str, Any], *args: Any) -> Any:
            ans = function(kwargs, *args)
            return ans, ([args[k] for k in argnums], ans)

        def backward(kwargs: dict[str, Any], *rest: Any) -> tuple[Any, ...]:
            *others, (moving, ans), g = rest
            args = _merge(fixed, others, argnums, moving)
            if vjp is None:
                raise _no_rule(self, "VJP", asked[0])
            found = vjp(asked, *writable((ans, *_unwrap((args, kwargs)))))(writable(conj_leaves(g)))
            known = dict(zip(asked, found, strict=True))
            pairs = ((known.get(k), x) for k, x in zip(argnums, moving, strict=True))
            return tuple(None if t is None else conj_leaves(match_dtypes(t, x)) for t, x in pairs)

        def rule(kwargs: dict[str, Any], *rest: Any) -> tuple[Any, Any]:
            *others, moving, tangents = rest
            args = _merge(fixed, others, argnums, moving)
            ans = function(kwargs, *args)
            given = [(k, t) for k, t in zip(argnums, tangents, strict=True) if t is not None]
            assert jvp is not None
            found = jvp(*writable((*zip(*given, strict=True), ans, *_unwrap((args, kwargs)))))
            return ans, match_dtypes(found, ans)

        if vjp is not None or jvp is None:
            function.defvjp(forward, backward)  # type: ignore[arg-type]  # positions are not typed
        if jvp is not None:
            function.defjvp(rule)
        return function


class _Held:
    """Stands for an object that has no hash, which `primitive` asks of what are no numbers."""

    def __init__(self, held: Any) -> None:
        self.held = held


def _hashable(tree: Any) -> Any:
    return pytree.map(_hold, tree)


def _hold(x: Any) -> Any:
    return x if isinstance(x, np.ndarray | Tracer) or getattr(x, "__hash__", None) else _Held(x)


def _unwrap(tree: Any) -> Any:
    """Return a container with what is held."""
    return map_arrays(lambda x: x.held if type(x) is _Held else x, tree)


def _has_value(box: Tracer) -> bool:
    with suppress(ConcreteValueError):
        concrete_value(box)
        return True
    return False


def _sample(x: Any) -> Any:
    """Return values in the place of zeros, at which most functions are defined."""
    if not issubclass(type(x), np.ndarray) or x.dtype.kind not in "fc":
        return x
    is_square = x.ndim > 1 and x.shape[-1] == x.shape[-2]
    rest = np.linspace(0.4, 0.6, x.size).reshape(x.shape) * (0.1 if is_square else 1.0)
    return (rest + (np.eye(x.shape[-1]) if is_square else 0.0)).astype(x.dtype)


def _merge(
    fixed: Sequence[int], others: Sequence[Any], argnums: Sequence[int], moving: Sequence[Any]
) -> tuple[Any, ...]:
    found = dict(zip([*fixed, *argnums], [*others, *moving], strict=True))
    return tuple(found[k] for k in range(len(found)))


def writable(tree: Any) -> Any:
    """Return a container with copies of arrays that are read-only, which compiled code refuses."""
    return map_arrays(_writable, tree)


def _writable(x: Any) -> Any:
    return x.copy() if issubclass(type(x), np.ndarray) and not x.flags.writeable else x


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is called with plain values and has no derivative."""

    @functools.wraps(f_raw)
    def notrace_f(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*[pytree.map(getval, x) for x in args], **kwargs)

    return notrace_f


# ---- rules ---------------------------------------------------------------------------------------


def defvjp_argnums(fun: Callable[..., Any], vjpmaker: Maker) -> None:
    """Set the reverse rule, ``vjpmaker(argnums, ans, args, kwargs)(g) -> tuple``."""
    _declare(primitive_vjps, fun, vjpmaker)


def defvjp_argnum(fun: Callable[..., Any], vjpmaker: Maker) -> None:
    """Set the reverse rule, ``vjpmaker(argnum, ans, args, kwargs)(g)``."""

    def maker(argnums: Sequence[int], *call: Any) -> Any:
        vjps = [vjpmaker(argnum, *call) for argnum in argnums]
        return lambda g: tuple(vjp(g) for vjp in vjps)

    defvjp_argnums(fun, maker)


def defvjp(
    fun: Callable[..., Any], *vjpmakers: Maker | None, argnums: Iterable[int] | None = None
) -> None:
    """Set reverse rules, one for each argument: ``vjpmaker(ans, *args, **kwargs)(g)``.

    Parameters
    ----------
    fun
        Made by `primitive`; of any other function there is a warning, and the rule is not used.
    *vjpmakers
        For arguments 0, 1, ... or for those of `argnums`; None if the derivative is zero.
    argnums
        Positions of arguments.
    """
    known = _by_argument(fun, vjpmakers, argnums)

    def maker(argnum: int, ans: Any, args: Any, kwargs: Any) -> Any:
        found = _rule(fun, "VJP", known, argnum)
        return (lambda _g: None) if found is None else found(ans, *args, **kwargs)

    defvjp_argnum(fun, maker)


def defjvp_argnums(fun: Callable[..., Any], jvpmaker: Maker) -> None:
    """Set the forward rule, ``jvpmaker(argnums, gs, ans, args, kwargs)``."""
    _declare(primitive_jvps, fun, jvpmaker)


def defjvp_argnum(fun: Callable[..., Any], jvpmaker: Maker) -> None:
    """Set the forward rule, ``jvpmaker(argnum, g, ans, args, kwargs)``; its results are added."""

    def maker(argnums: Sequence[int], gs: Sequence[Any], ans: Any, *call: Any) -> Any:
        tangents = [jvpmaker(k, g, ans, *call) for k, g in zip(argnums, gs, strict=True)]
        tangents = [t for t in tangents if t is not None]
        space = vspace(ans)
        return functools.reduce(space.add, tangents) if tangents else space.zeros()

    defjvp_argnums(fun, maker)


def defjvp(
    fun: Callable[..., Any], *jvpfuns: Maker | str | None, argnums: Iterable[int] | None = None
) -> None:
    """Set forward rules, one for each argument: ``jvpfun(g, ans, *args, **kwargs)``.

    Parameters
    ----------
    fun, argnums
        As for `defvjp`.
    *jvpfuns
        As there; "same" where `fun` is linear in the argument.
    """
    known = _by_argument(fun, jvpfuns, argnums)

    def maker(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        found = _rule(fun, "JVP", known, argnum)
        if found == _SAME:
            return _call_at_tangent(fun, argnum, g, args, kwargs)
        return None if found is None else found(g, ans, *args, **kwargs)

    defjvp_argnum(fun, maker)


def def_linear(fun: Callable[..., Any]) -> None:
    """Declare that a function is linear in each of its arguments."""
    defjvp_argnum(fun, lambda argnum, g, _ans, *call: _call_at_tangent(fun, argnum, g, *call))


def _call_at_tangent(fun: Callable[..., Any], argnum: int, g: Any, args: Any, kwargs: Any) -> Any:
    """Return a function of a tangent in the place of an argument."""
    return fun(*args[:argnum], g, *args[argnum + 1 :], **kwargs)


def _declare(rules: MutableMapping[Any, Maker], fun: Callable[..., Any], maker: Maker) -> None:
    if isinstance(fun, primitive):
        rules[fun] = maker
        return
    warnings.warn(
        f"the rule for {getattr(fun, '__name__', fun)}, given at {user_location()}, is not used: "
        "it is not one of funcdiff.autograd.extend.primitive. NumPy's and SciPy's functions have "
        "derivatives; to replace one, make a function of your own of it with primitive(...).",
        stacklevel=2,
    )


def _by_argument(
    fun: Callable[..., Any], makers: Sequence[Any], argnums: Iterable[int] | None
) -> dict[int, Any]:
    for maker in makers:
        if not (maker is None or callable(maker) or maker == _SAME):
            raise InputError(
                f"{maker!r} is no rule of {getattr(fun, '__name__', fun)}, at {user_location()}. "
                'Give a function, or None for zero, or to defjvp "same".'
            )
    return dict(zip(count() if argnums is None else argnums, makers, strict=False))


def _rule(fun: Callable[..., Any], kind: str, known: dict[int, Any], argnum: int) -> Any:
    if argnum not in known:
        raise _no_rule(fun, kind, argnum)
    return known[argnum]


def _no_rule(fun: Callable[..., Any], kind: str, argnum: int) -> MissingRuleError:
    return MissingRuleError(
        f"{kind} of {getattr(fun, '__name__', fun)} by argument {argnum} is not defined. "
        f"Give def{kind.lower()} a rule for it, or None if it is zero."
    )


__getattr__, __dir__ = attributes(
    __name__,
    absent={
        "SparseObject": "Gradients of indexing are added in place without it.",
        "JVPNode VJPNode": "fd.trace(f)(x) returns the program of a call: there are no nodes.",
        "register_notrace": "Use notrace_primitive.",
    },
)
