"""Jacobians and Hessians as arrays, each by one batched pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, overload

from funcdiff.api.arguments import FunctionName, type_of
from funcdiff.api.calls import Inputs, call_traced
from funcdiff.api.gradient import grad
from funcdiff.api.programs import linearized, pullback
from funcdiff.api.signatures import Argnums, Array, ArrayArg, Differentiable, OfFirst, P, RealScalar
from funcdiff.api.tracing import Trace, rebuild, run
from funcdiff.core.builder import Builder, Tracer, constant
from funcdiff.core.memo import memoised
from funcdiff.core.program import Program
from funcdiff.core.recording import Recording, program_of
from funcdiff.core.types import INT, ArrayType
from funcdiff.core.walk import inline
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.ops.logic import equal
from funcdiff.ops.slicing import slice_along
from funcdiff.ops.structural import convert, iota, permute, reshape
from funcdiff.passes.simplify import simplify, simplify_linear
from funcdiff.space import add, zeros
from funcdiff.transforms.vmap import vmap

Mode: TypeAlias = Literal["forward", "reverse"] | None


@overload
def jacobian(
    f: OfFirst[ArrayArg, P, Differentiable], argnums: Literal[0] = 0, *, holomorphic: bool = False
) -> OfFirst[ArrayArg, P, Array]: ...
@overload
def jacobian(f: Callable[..., Any], argnums: Argnums = 0, *, holomorphic: bool = False) -> Any: ...
def jacobian(f: Callable[..., Any], argnums: Argnums = 0, *, holomorphic: bool = False) -> Any:
    """Return a function that computes the Jacobian, ``J[i, j] = ∂yᵢ/∂xⱼ``.

    Forward or reverse mode is chosen by the smaller of input and output.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    argnums
        Which positional arguments to differentiate: an int, which may be negative, or a tuple.
    holomorphic
        Whether `f` is holomorphic; needed for complex arguments.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a container like its result, of containers like the
        differentiated argument (a tuple of those if `argnums` is a tuple), of arrays of shape
        ``(*y.shape, *x.shape)``.

    Raises
    ------
    InputError
        When called, if a differentiated leaf is an integer or boolean array, or complex without
        ``holomorphic=True``.
    OutputError
        When called, if a result is not floating or complex.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacobian(lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) @ x)(np.zeros(2))
    array([[1., 2.],
           [3., 4.]])
    """
    return _jacobian(f, argnums, None, holomorphic=holomorphic)


@overload
def jacfwd(
    f: OfFirst[ArrayArg, P, Differentiable], argnums: Literal[0] = 0, *, holomorphic: bool = False
) -> OfFirst[ArrayArg, P, Array]: ...
@overload
def jacfwd(f: Callable[..., Any], argnums: Argnums = 0, *, holomorphic: bool = False) -> Any: ...
def jacfwd(f: Callable[..., Any], argnums: Argnums = 0, *, holomorphic: bool = False) -> Any:
    """Return the function of `jacobian`, computed column by column in forward mode, batched.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacfwd(lambda x: np.stack([x, x**2]))(3.0)
    array([1., 6.])
    """
    return _jacobian(f, argnums, "forward", holomorphic=holomorphic)


@overload
def jacrev(
    f: OfFirst[ArrayArg, P, Differentiable], argnums: Literal[0] = 0, *, holomorphic: bool = False
) -> OfFirst[ArrayArg, P, Array]: ...
@overload
def jacrev(f: Callable[..., Any], argnums: Argnums = 0, *, holomorphic: bool = False) -> Any: ...
def jacrev(f: Callable[..., Any], argnums: Argnums = 0, *, holomorphic: bool = False) -> Any:
    """Return the function of `jacobian`, computed row by row in reverse mode, batched.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacrev(lambda x: x[0] * x[1])(np.array([2.0, 5.0]))
    array([5., 2.])
    """
    return _jacobian(f, argnums, "reverse", holomorphic=holomorphic)


@overload
def hessian(
    f: OfFirst[ArrayArg, P, RealScalar], argnums: Literal[0] = 0
) -> OfFirst[ArrayArg, P, Array]: ...
@overload
def hessian(f: Callable[..., RealScalar], argnums: Argnums = 0) -> Any: ...
def hessian(f: Callable[..., Any], argnums: Argnums = 0) -> Any:
    """Return a function that computes the Hessian of a scalar function, ``∂²f/∂xᵢ∂xⱼ``.

    Computed forward over reverse: the gradient, pushed along all directions at once.

    Parameters
    ----------
    f
        Function that returns a real scalar.
    argnums
        Which positional arguments to differentiate: an int, which may be negative, or a tuple.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a container like the differentiated argument, of
        containers like it, of arrays of shape ``(*x.shape, *x.shape)``.

    Raises
    ------
    InputError, OutputError
        When called, as by `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    array([[4., 6.],
           [6., 0.]])
    """
    return _jacobian(grad(f, argnums), argnums, "forward", holomorphic=False)


def _jacobian(f: Callable[..., Any], argnums: Argnums, mode: Mode, *, holomorphic: bool) -> Any:
    @wraps(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        inputs, trace = call_traced(f, argnums, args, kwargs, has_aux=False)
        if not holomorphic:
            _refuse_complex(inputs)
        program, wrong = _jacobian_program(trace.recording, len(inputs.operands), mode)
        if program is None:
            raise OutputError(
                f"jacobian needs floating or complex results; {FunctionName(f)} returned {wrong}, "
                f"at {user_location()}."
            )
        blocks = run(program, [*inputs.operands, *trace.captures], trace)
        return _assembled(blocks, inputs, trace, single=isinstance(argnums, int))

    return jacobian_of


def _refuse_complex(inputs: Inputs) -> None:
    if any(type_of(x).dtype.kind == "c" for x in inputs.operands):
        raise InputError(
            f"the Jacobian by a complex argument was asked for at {user_location()}. Pass "
            "holomorphic=True if the function is holomorphic; else differentiate it as a function "
            "of real and imaginary parts."
        )


def _assembled(blocks: Sequence[Any], inputs: Inputs, trace: Trace, *, single: bool) -> Any:
    """Put the blocks, row by row, into containers like the inputs, in one like the output."""
    columns = len(inputs.operands)
    rows = []
    for k in range(sum(trace.numeric)):
        trees = inputs.rebuild(blocks[k * columns : (k + 1) * columns])
        rows.append(trees[0] if single else trees)
    return rebuild(trace.structure, trace.numeric, rows, trace.others)


class _Derived(NamedTuple):
    """The program of the blocks of a Jacobian, or the output type that has none."""

    program: Program | None
    wrong: ArrayType | None


@memoised
def _jacobian_program(recording: Recording, count: int, mode: Mode) -> _Derived:
    program = simplify(program_of(*recording))
    xs, ys = program.input_types[:count], program.output_types
    for y in ys:
        if not y.differentiable:
            return _Derived(None, y)
    mixed = any(y.dtype.kind == "c" for y in ys) and all(x.dtype.kind == "f" for x in xs)
    if mode is None:
        narrow = sum(x.size for x in xs) <= sum(y.size for y in ys)
        mode = "forward" if narrow or mixed else "reverse"
    if mode == "reverse" and mixed:
        # rows of real and imaginary parts would be two pulls; columns are one push
        mode = "forward"
    split = linearized(program, count, complete=True)
    linear = simplify_linear(split.linear, (True,) * count + (False,) * split.residuals)
    with Builder("jacobian", closed=True, shares=True) as builder:
        operands = [builder.input(t) for t in program.input_types]
        residuals = inline(split.primal, operands)[len(ys) :]
        known = (False,) * len(residuals)
        if mode == "forward":
            size, basis = _basis(xs)
            pushed, _ = vmap(linear, size, (*(True for _ in xs), *known), _every(ys))
            columns = inline(pushed, [*basis, *residuals])
            blocks = [
                _last(part, y, x)
                for column, y in zip(columns, ys, strict=True)
                for part, x in zip(_parts(column, xs), xs, strict=True)
            ]
        else:
            size, basis = _basis(ys)
            pulled, _ = vmap(
                pullback(split, count, _every(ys)), size, (*known, *_every(ys)), _every(xs)
            )
            rows = [_parts(row, ys) for row in inline(pulled, [*residuals, *basis])]
            blocks = [
                reshape(rows[j][k], (*y.shape, *x.shape))
                for k, y in enumerate(ys)
                for j, x in enumerate(xs)
            ]
        return _Derived(simplify(builder.program(blocks)), None)


def _every(types: Sequence[ArrayType]) -> tuple[bool, ...]:
    return (True,) * len(types)


def _starts(types: Sequence[ArrayType]) -> list[int]:
    return list(accumulate((t.size for t in types), initial=0))


def _basis(types: Sequence[ArrayType]) -> tuple[int, list[Tracer]]:
    """Return the size of a space of several arrays, and its unit vectors stacked, by array."""
    *starts, size = _starts(types)
    vectors = []
    for start, t in zip(starts, types, strict=True):
        shape = (size, t.size)
        column = add(iota(shape, 1), constant(start, ArrayType(shape, INT)))
        unit = (
            convert(equal(iota(shape, 0), column), t.dtype)
            if t.size
            else zeros(ArrayType(shape, t.dtype))
        )
        vectors.append(reshape(unit, (size, *t.shape)))
    return size, vectors


def _parts(x: Tracer, types: Sequence[ArrayType]) -> list[Tracer]:
    """Split the leading axis of `x`, which counts unit vectors, by array."""
    starts = _starts(types)
    return [slice_along(x, 0, a, b) for a, b in pairwise(starts)]


def _last(part: Tracer, y: ArrayType, x: ArrayType) -> Tracer:
    """Move the axis of the unit vectors behind and give it the shape of `x`."""
    return reshape(permute(part, (*range(1, part.ndim), 0)), (*y.shape, *x.shape))
