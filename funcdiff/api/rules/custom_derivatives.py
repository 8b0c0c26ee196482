"""Custom derivative rules: `custom_jvp` and `custom_vjp`, with JAX's signatures.

In an eager derivative of the first order a call is made on values, and its rules run on values.
Elsewhere it traces the function and, as often as derivatives are pending, its rules; all of it
becomes one equation that holds the programs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, ParamSpec, TypeVar, TypeVarTuple

from funcdiff.api.calls.arguments import check_function, describe, ints_of
from funcdiff.api.calls.transformed import ByParts, FunctionName, explains_calls, name_of
from funcdiff.api.rules.custom_call import Call
from funcdiff.api.rules.rule_results import NO_CALL, Result, call_of_rule
from funcdiff.api.rules.value_call import REFUSED, ValueCall
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracebacks import public
from funcdiff.errors import InputError, user_location

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")
Fixed = TypeVarTuple("Fixed")


_COTANGENT: Final = re.compile(r"(cts?|cotangents?|grad_out(puts?)?)")
_RESIDUAL: Final = re.compile(r"(res|residuals?|saved|ctx|cache)")
"""How rules call what they take; names that may be either (g, x, dy) tell nothing."""


class CustomFunction(ByParts, Generic[P, R]):
    """A function with derivative rules of its own.

    Made by `custom_jvp` and `custom_vjp`, which say how it is used.  It may be given both rules:
    `defjvp` then serves forward mode and `defvjp` reverse mode.
    """

    _is_opaque = False

    def __init__(
        self, f: Callable[P, R], wanted: str, nondiff_argnums: int | Sequence[int] = ()
    ) -> None:
        check_function(f, wanted)
        self._take_after(f)
        self._options: dict[str, Any] = {"nondiff_argnums": nondiff_argnums}
        self._function = f
        self._wanted = wanted
        self._fixed = _positions(nondiff_argnums)
        self._jvp: Callable[..., Any] | None = None
        self._vjp: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self._returned: dict[Any, Result] = {}
        self._name = name_of(f)

    def __repr__(self) -> str:
        return f"{self._wanted}({self._name})"

    def _parts(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        return _MADE_BY[self._wanted], (self._function,), self._options

    def _state(self) -> Any:
        return self._jvp, self._vjp

    def __setstate__(self, rules: Any) -> None:
        self._jvp, self._vjp = rules

    def defjvp(self, rule: Callable[Q, tuple[R, R]]) -> Callable[Q, tuple[R, R]]:
        """Set the rule of forward mode; works as a decorator.

        Parameters
        ----------
        rule
            ``rule(*fixed, primals, tangents) -> (out, tangent_out)``: `fixed` are the arguments
            in `nondiff_argnums`, `primals` and `tangents` tuples with one entry per other
            argument.  Linear in the tangents.  A leaf without a derivative has the tangent None.
        """
        self._check_rule(rule)
        self._jvp = rule
        return rule

    def defvjp(
        self,
        forward: Callable[..., tuple[R, S]],
        backward: Callable[[*Fixed, S, R], tuple[Any, ...]],
    ) -> None:
        """Set the rule of reverse mode.

        Parameters
        ----------
        forward
            ``forward(*args) -> (out, residuals)``, `out` as the function returns it.
        backward
            ``backward(*fixed, residuals, cotangent) -> tuple``: the cotangent is like `out`, the
            tuple has one entry per argument that is not in `nondiff_argnums`, like it, or None
            for zero.
        """
        for rule in (forward, backward):
            self._check_rule(rule)
        self._check_order(backward)
        self._vjp = forward, backward

    @public
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function; where derivatives are taken, its rules are used."""
        builder = current_builder()
        if builder is None:
            return self.call_plain(*args, **kwargs)
        has_rule = self._jvp is not None or self._vjp is not None
        if not has_rule and not self._is_opaque:
            raise InputError(
                f"{self._name} was declared with fd.{self._wanted}, but it has no rule, at "
                f"{user_location()}. Call {self._name}.def{self._wanted[-3:]}(...) before."
            )
        positional = self._positional(args, kwargs) if kwargs or self._fixed else args
        result: R
        if builder.policy.on_values:
            made = ValueCall(
                self._name, self._fixed, positional, builder, self, self._function,
                self._returned, is_opaque=self._is_opaque,
            )  # fmt: skip
            result = made.make(self._jvp, self._vjp)
            if result is not REFUSED:
                return result
        if has_rule:
            result = self._trace_call(Call(self._name, self._fixed, positional, builder))
        else:
            result = self._code(*positional)
        return result

    def call_plain(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function with plain arrays, perhaps from one of its rules."""
        same = call_of_rule()
        if same is not None and same is not NO_CALL and not kwargs and same.is_of(self, args):
            found: R = same.result(lambda: self._plain(*args, **kwargs))
            return found
        return self._plain(*args, **kwargs)

    def _plain(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def _check_rule(self, rule: Any) -> None:
        if not callable(rule):
            raise InputError(
                f"a rule of {self._name} is a function, but {describe(rule)} was given, at "
                f"{user_location()}: write {self._name}.defjvp(rule), or "
                f"{self._name}.defvjp(forward, backward)."
            )

    def _check_order(self, backward: Callable[..., Any]) -> None:
        """Refuse a backward rule whose parameters are named the other way round.

        Where both are one array, it might compute something else without an error.
        """
        code = getattr(backward, "__code__", None)
        first = len(self._fixed) + inspect.ismethod(backward)
        names: tuple[str, ...] = ()
        if code is not None:
            names = code.co_varnames[: code.co_argcount][first : first + 2]
        if len(names) < 2:
            return
        cotangents, residuals = (list(map(p.fullmatch, names)) for p in (_COTANGENT, _RESIDUAL))
        if (cotangents[0] and not cotangents[1]) or (residuals[1] and not residuals[0]):
            raise InputError(
                f"the backward rule {FunctionName(backward)} of {self._name} has the parameters "
                f"({', '.join(names)}), at {user_location()}, but is called with (residuals, "
                f"cotangent). Write ({names[1]}, {names[0]})."
            )

    def _trace_call(self, call: Call) -> Any:
        """Record a call with its rules."""
        return call.record(self._code, self._jvp, self._vjp)

    @property
    def _code(self) -> Callable[..., Any]:
        """What is traced."""
        return self._function

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in order: rules take them by position."""
        bound = args
        if kwargs:
            arguments = inspect.signature(self._function).bind(*args, **kwargs)
            if arguments.kwargs:
                raise InputError(
                    f"{self._name} has derivative rules, which take arguments by position, but "
                    f"{', '.join(arguments.kwargs)} can only be given by keyword, at "
                    f"{user_location()}. Make the parameters positional."
                )
            arguments.apply_defaults()
            bound = arguments.args
        outside = [k for k in self._fixed if not 0 <= k < len(bound)]
        if outside:
            raise InputError(
                f"nondiff_argnums={tuple(sorted(self._fixed))} of {self._name} is out of range: "
                f"it was called with {len(bound)} arguments, at {user_location()}."
            )
        return bound


def _positions(nondiff_argnums: int | Sequence[int]) -> frozenset[int]:
    given = ints_of(nondiff_argnums)
    if given is None or any(k < 0 for k in given):
        raise InputError(
            f"nondiff_argnums={nondiff_argnums!r} are no positions of arguments, at "
            f"{user_location()}. Count from 0, as in nondiff_argnums=(0, 2)."
        )
    return frozenset(given)


@explains_calls
def custom_jvp(
    f: Callable[P, R], *, nondiff_argnums: int | Sequence[int] = ()
) -> CustomFunction[P, R]:
    """Give a function a derivative rule of its own, in forward mode; every mode follows.

    Parameters
    ----------
    f
        Function of arrays and containers.  Where derivatives are taken, what it does is not looked
        at; outside of `jit`, `vmap` and the like it gets values.
    nondiff_argnums
        Positions of arguments that are passed through as they are: functions, options.

    Returns
    -------
    CustomFunction
        `f`, to which ``defjvp`` gives the rule ``rule(primals, tangents) -> (out, tangent)``.

    Raises
    ------
    OutputError
        By a call, if the rule does not return what it has to; the message shows both.
    NotDifferentiableError
        If `f` closes over a traced array that is differentiated, too.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> @fd.custom_jvp
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + np.exp(x)))
    >>> fd.grad(log1pexp)(100.0)
    np.float64(1.0)
    """
    return CustomFunction(f, "custom_jvp", nondiff_argnums)


@explains_calls
def custom_vjp(
    f: Callable[P, R], *, nondiff_argnums: int | Sequence[int] = ()
) -> CustomFunction[P, R]:
    """Give a function a derivative rule of its own, in reverse mode; every mode follows.

    Forward mode transposes the rule, if that is linear in the cotangent; give ``defjvp``, too, if
    it is not (a rule that clips gradients, say).

    Parameters
    ----------
    f, nondiff_argnums
        As for `custom_jvp`.

    Returns
    -------
    CustomFunction
        `f`, to which ``defvjp(forward, backward)`` gives the rule: ``forward(*args) -> (out,
        residuals)`` and ``backward(residuals, cotangent) -> tuple`` with one entry per argument.

    Raises
    ------
    OutputError, NotDifferentiableError
        As for `custom_jvp`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> @fd.custom_vjp
    ... def clipped(x, bound):
    ...     return x
    >>> clipped.defvjp(
    ...     lambda x, bound: (x, bound),
    ...     lambda bound, ct: (np.clip(ct, -bound, bound), None),
    ... )
    >>> fd.grad(lambda x: 10.0 * clipped(x, 2.0) ** 2)(3.0)
    np.float64(2.0)
    """
    return CustomFunction(f, "custom_vjp", nondiff_argnums)


_MADE_BY: Final[dict[str, Callable[..., Any]]] = {
    "custom_jvp": custom_jvp,
    "custom_vjp": custom_vjp,
}
