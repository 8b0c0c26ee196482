"""NumPy code as a function of JAX, and functions of JAX as operations here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import update_wrapper
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.jit import jit
from funcdiff.core.late import late_import
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, ProgramError, not_installed
from funcdiff.interop.calls import Call, Used, register, take_apart, type_of_array
from funcdiff.interop.numpy_code import NUMPY_CODE, program_without_values
from funcdiff.interop.operation import Calculus, Function, Operation, Types
from funcdiff.reading.text.module import of_program
from funcdiff.reading.views import function_of
from funcdiff.transforms.jvp import Mask

try:
    import jax
    import jax.numpy as jnp
    from jax._src.array import ArrayImpl
    from jax.core import ShapedArray
    from jax.dtypes import canonicalize_dtype, float0
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ImportError as error:
    raise not_installed(error, "fd.interop.jax needs JAX", "funcdiff[jax]") from error

__all__ = ["use", "wrap"]

_INLINED: Final = "inlined"
_LONGEST: Final = 2000
"""Equations up to which a program is handed to XLA, which compiles longer ones for minutes."""


# ---- NumPy code in JAX: a primitive whose rules are operations again -----------------------------


class Wrapped:
    """NumPy code as a function of JAX; made by `wrap`."""

    def __init__(
        self, f: Callable[..., Any], result: Callable[..., Any] | None, *, inlines: bool
    ) -> None:
        update_wrapper(self, f)
        self._function, self._result, self._inlines = f, result, inlines

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result, in JAX's arrays."""
        xs, call = self._call(args, kwargs)
        return call.rebuild(bridge_p.bind(*xs, operation=call.operation, inlines=self._inlines))

    def how(self, *args: Any, **kwargs: Any) -> str:
        """Return how a compiled call with such arguments runs: "inlined", or why it is not."""
        xs, call = self._call(args, kwargs)
        types = tuple(type_of_array(x, x.dtype) for x in xs)
        return _plan(call.operation, types, inlines=self._inlines).how

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Call]:
        xs, parts = take_apart((args, kwargs), _is_array)
        arrays = [x if isinstance(x, jax.Array) else jnp.asarray(x) for x in xs]
        for x in arrays:
            type_of_array(x, x.dtype)  # which refuses what NumPy does not have
        return arrays, Call(self._function, parts, NUMPY_CODE, self._result)


def wrap(
    f: Callable[..., Any], *, result: Callable[..., Any] | None = None, inline: bool = True
) -> Wrapped:
    """Return NumPy code as a function of JAX: of its arrays, and under all its transformations.

    The derivatives are funcdiff's, of every order and in both modes; ``jax.grad``, ``jax.jvp``,
    ``jax.vmap`` and ``jax.jit`` nest in any order.  Compiled calls are inlined where
    `funcdiff.export` can write the program, so that XLA sees it, and call back to NumPy where not.

    Parameters
    ----------
    f
        Function of arrays and containers of them, written in NumPy.  JAX's and NumPy's arrays among
        its arguments are operands; numbers of Python's, strings and flags it gets as they are.
    result
        ``result(*args)`` returns arrays of the shapes and dtypes of the result; it is called with
        zeros.  Needed only where `f` decides by values (``if x > 0``) and is compiled.
    inline
        False: call back always.

    Returns
    -------
    Wrapped
        The function.  ``wrap(f).how(*args)`` says how a compiled call runs: "inlined", or
        "callback: " and the reason.

    Raises
    ------
    ConcreteValueError
        When compiled, if `f` decides by values, and there is no `result`.
    OutputError
        If the result is of another structure or of other types than before.
    """
    return Wrapped(f, result, inlines=inline)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


# ---- JAX's arrays as arguments of funcdiff's functions -------------------------------------------


register(ArrayImpl, lambda x: (np.asarray(x), None), lambda y, _: jnp.asarray(y))


# ---- functions of JAX here -----------------------------------------------------------------------


class _JAXCode:
    """What JAX knows of functions of its arrays."""

    def dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        return _canonical_dtype(dtype)

    def is_array(self, leaf: Any) -> bool:
        return isinstance(leaf, jax.Array | np.ndarray | np.generic | float | int | complex)

    def run(self, f: Function, xs: Sequence[Any]) -> Sequence[Any]:
        return [np.asarray(y) for y in f(*map(jnp.asarray, xs))]

    def types(self, f: Function, types: Types) -> Types:
        given = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types]
        try:
            found = jax.eval_shape(f, *given)
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
            raise ConcreteValueError(str(error)) from error
        return tuple(type_of_array(y, y.dtype) for y in found)

    def push(self, f: Function, xs: Sequence[Any], ts: Sequence[Any]) -> Sequence[Any]:
        tangents: Sequence[Any] = jax.jvp(f, tuple(xs), tuple(ts))[1]
        return tangents

    def pull(self, f: Function, xs: Sequence[Any], cts: Sequence[Any]) -> Sequence[Any]:
        cotangents: Sequence[Any] = jax.vjp(f, *xs)[1](list(cts))
        return cotangents

    def batch(self, f: Function, size: int, flags: Mask, xs: Sequence[Any]) -> Sequence[Any]:
        axes = tuple(0 if flag else None for flag in flags)
        ys: Sequence[Any] = jax.vmap(f, axes, axis_size=size)(*xs)
        return ys


_JAX_CODE: Final[Calculus] = _JAXCode()


def use(g: Callable[..., Any], *, result: Callable[..., Any] | None = None) -> Used:
    """Return a function of JAX as an operation here.

    It takes and returns NumPy's arrays, and is differentiated by JAX, to every order, in both
    modes and batches, wherever funcdiff differentiates, batches or compiles what calls it.

    Parameters
    ----------
    g
        Pure function of JAX's arrays and containers of them, perhaps ``jax.jit(g)``, which is
        quicker.  NumPy's arrays among its arguments become JAX's; numbers of Python's, strings and
        flags it gets as they are.
    result
        ``result(*args)`` returns NumPy arrays of the shapes and dtypes of the result; it is called
        with zeros.  Needed only where `g` decides by values that are not there, as inside `scan`.

    Returns
    -------
    Used
        The function of NumPy's arrays.
    """
    return Used(g, _JAX_CODE, result)


# ---- the primitive -------------------------------------------------------------------------------


bridge_p: Final = Primitive("funcdiff")
bridge_p.multiple_results = True


@bridge_p.def_impl  # type: ignore[untyped-decorator]
def _run(*xs: Any, operation: Operation, inlines: bool) -> list[Any]:  # noqa: ARG001
    # what the user's function returns may be memory that it keeps
    copies = operation.is_users
    return [
        jnp.array(y, _canonical_dtype(y.dtype), copy=copies or None)
        for y in operation.run(*map(np.asarray, xs))
    ]


@bridge_p.def_abstract_eval  # type: ignore[untyped-decorator]
def _types(*xs: Any, operation: Operation, inlines: bool) -> list[Any]:  # noqa: ARG001
    found = operation.types(tuple(type_of_array(x, x.dtype) for x in xs))
    return [ShapedArray(t.shape, _canonical_dtype(t.dtype)) for t in found]


def _jvp(
    xs: Sequence[Any], ts: Sequence[Any], *, operation: Operation, inlines: bool
) -> tuple[list[Any], list[Any]]:
    ys = bridge_p.bind(*xs, operation=operation, inlines=inlines)
    active = tuple(type(t) is not ad.Zero and t.dtype != float0 for t in ts)
    wanted = tuple(y.dtype.kind in "fc" for y in ys)
    moved: list[Any] = []
    if any(active) and any(wanted):
        forward = operation.pushforward(active, wanted)
        moved = bridge_p.bind(*xs, *compress(ts, active), operation=forward, inlines=inlines)
    rest = iter(moved)
    return ys, [
        next(rest) if flag and moved else ad.Zero(jax.typeof(y).to_tangent_aval())
        for y, flag in zip(ys, wanted, strict=True)
    ]


def _transpose(cts: Sequence[Any], *xs: Any, operation: Operation, inlines: bool) -> list[Any]:
    known = xs[: len(xs) - operation.linear]
    if any(map(ad.is_undefined_primal, known)):
        operation.transpose()  # which raises
    backward = operation.transpose()
    given = map(ad.instantiate_zeros, cts)
    found = bridge_p.bind(*known, *given, operation=backward, inlines=inlines)
    return [None for _ in known] + [
        ct if ad.is_undefined_primal(x) else None
        for ct, x in zip(found, xs[len(known) :], strict=True)
    ]


def _batch(
    xs: Sequence[Any], axes: Sequence[Any], *, operation: Operation, inlines: bool
) -> tuple[list[Any], list[int]]:
    flags = tuple(axis is not None for axis in axes)
    moved = [x if k is None else jnp.moveaxis(x, k, 0) for x, k in zip(xs, axes, strict=True)]
    size = next(x.shape[0] for x, flag in zip(moved, flags, strict=True) if flag)
    ys = bridge_p.bind(*moved, operation=operation.batch(size, flags), inlines=inlines)
    return ys, [0 for _ in ys]


def _lower(ctx: Any, *xs: Any, operation: Operation, inlines: bool) -> Any:
    types = tuple(ArrayType(x.shape, np.dtype(x.dtype)) for x in ctx.avals_in)
    run, how = _plan(operation, types, inlines=inlines)
    if how == _INLINED:
        return mlir.lower_fun(run, multiple_results=True)(ctx, *xs)
    compiled = operation.run_by(run)
    result, _, _ = mlir.emit_python_callback(
        ctx, lambda *xs: compiled.run(*map(np.asarray, xs)), None, list(xs), ctx.avals_in,
        ctx.avals_out, has_side_effect=False, returns_token=False,
    )  # fmt: skip
    return result


ad.primitive_jvps[bridge_p] = _jvp
ad.primitive_transposes[bridge_p] = _transpose
batching.primitive_batchers[bridge_p] = _batch
mlir.register_lowering(bridge_p, _lower)


class _Plan(NamedTuple):
    """How a compiled call runs."""

    run: Function  # of JAX's arrays where it is inlined, else of NumPy's
    how: str  # or why it is not inlined


def _plan(operation: Operation, types: Types, *, inlines: bool) -> _Plan:
    """Return how a compiled call runs."""
    compiled = jit(operation.function)
    if not inlines:
        return _Plan(compiled, "callback: it was asked for")
    try:
        program, captures = program_without_values(operation.function, types)
        if len(program.equations) > _LONGEST:
            return _Plan(compiled, f"callback: it has {len(program.equations)} operations")
        text = of_program(program, late_import("funcdiff.reading.export.jax").DIALECT)
    except ConcreteValueError as error:  # it decides by values, and is called as it is
        return _Plan(operation.function, f"callback: {error}")
    except ProgramError as error:
        return _Plan(compiled, f"callback: {error}")
    if "jax_enable_x64" in text and not jax.config.jax_enable_x64:
        return _Plan(compiled, "callback: it is of double precision, and jax_enable_x64 is off")
    function = function_of(text, "program")
    return _Plan(lambda *xs: function(*xs, *captures), _INLINED)


def _canonical_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype of NumPy's as JAX has it; warn where that is single precision for double."""
    found: np.dtype[Any] = canonicalize_dtype(dtype)
    if found != dtype and dtype.kind in "fc":
        warnings.warn(
            "JAX rounds double precision to single precision across a bridge, unless "
            "jax.config.update('jax_enable_x64', True) is called first",
            stacklevel=2,
        )
    return found
