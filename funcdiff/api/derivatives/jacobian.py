"""Jacobians as arrays: each by one batched pass, in chunks of it, or as sparse matrices.

Blocks come in containers of inputs, in one like the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.api.calls.arguments import is_int
from funcdiff.api.calls.differentiated import check_holomorphic, check_outputs, trace_call
from funcdiff.api.calls.inputs import Inputs, Selection, type_of
from funcdiff.api.calls.tracing import Trace, arrange_results, run
from funcdiff.api.calls.transformed import display_name, transform
from funcdiff.api.derivatives.dense import (
    Passes,
    blocks_of,
    is_forward,
    jacobian_by_tape,
    jacobian_passes,
    jacobian_program,
)
from funcdiff.api.derivatives.sparse_matrices import Sparse, sparse_blocks, sparse_option
from funcdiff.api.signatures.functions import Jacobian, JacobianInOneMode, ValueAndJacobian
from funcdiff.api.signatures.variables import Argnames, Argnums, Format, Mode, typed_as
from funcdiff.core.running.progress import Progress
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.pytree.structure import unflatten_rows


def _in_one_pass(
    trace: Trace, operands: Sequence[Any], count: int, mode: Mode, *, wants_value: bool
) -> list[Any]:
    """Run the program of the Jacobian; at first sight its tape, on one unit vector at a time."""
    recording, results = trace.recording, sum(trace.numeric)
    if jacobian_program.peek(recording, count, results, mode, wants_value=wants_value) is None:
        ys = [y.type for y in trace.outputs[:results]]
        forward = is_forward([type_of(x) for x in operands[:count]], ys, mode)
        found = jacobian_by_tape(
            jacobian_program, trace, count, operands, forward=forward, mode=mode,
            wants_value=wants_value,
        )  # fmt: skip
        if found is not None:
            return found
    dense = jacobian_program(recording, count, results, mode, wants_value=wants_value)
    return run(dense.program, [*operands, *dense.constants], trace)


def run_in_chunks(
    passes: Passes,
    operands: Sequence[Any],
    results: int,
    trace: Trace,
    progress: Progress,
    *,
    wants_value: bool,
) -> list[Any]:
    """Return what `jacobian_program` computes, with the memory of one chunk at a time."""
    values = run(passes.primal, operands, trace)
    outputs, residuals = values[: passes.outputs], values[passes.outputs :]
    chunks = []
    for start in range(0, passes.size, passes.chunk):
        first = min(start, passes.size - passes.chunk)  # the last one may overlap
        images = run(passes.images, [np.int64(first), *residuals], trace)
        chunks.append([image[start - first :] for image in images])
        progress.tick(len(chunks[-1][0]) if images else 0)
    stacks = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
    xs = [type_of(x) for x in operands[: len(operands) - len(trace.captures)]]
    ys = [y.type for y in trace.outputs[:results]]
    blocks = [x.copy() for x in blocks_of(stacks, xs, ys, forward=passes.forward)]
    return [*blocks, *(outputs if wants_value else outputs[results:])]


def jacobian_function(
    f: Callable[..., Any],
    selection: Selection,
    *,
    has_aux: bool,
    holomorphic: bool,
    chunk_size: int | None,
    progress: bool = False,
    mode: Mode = "forward",
    wants_value: bool = False,
    sparse: Sparse | None = None,
) -> Callable[..., Any]:
    """Return a function that computes a Jacobian."""
    _check_options(mode, chunk_size)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs, trace = trace_call(f, selection, args, kwargs, has_aux=has_aux)
        if not holomorphic:
            _refuse_complex(inputs)
        check_outputs(trace, selection)
        if holomorphic:
            check_holomorphic(inputs, trace, selection)
        count, rows = len(inputs.operands), sum(trace.numeric)
        operands = [*inputs.operands, *trace.captures]
        passes = None
        says = progress and sparse is None and not any(isinstance(x, Tracer) for x in operands)
        if chunk_size is not None or says:
            passes = jacobian_passes(trace.recording, count, rows, mode, chunk_size)
        if sparse is not None:
            results = sparse_blocks(sparse, inputs, trace, wants_value=wants_value)
        elif passes is None or passes.chunk == passes.size:
            results = _in_one_pass(trace, operands, count, mode, wants_value=wants_value)
        else:
            what = f"{selection.transform} of {display_name(f)}"
            with Progress(what, wanted=says, total=passes.size, unit="directions") as bar:
                results = run_in_chunks(passes, operands, rows, trace, bar, wants_value=wants_value)
        J = _assemble(results[: rows * count], inputs, trace, selection)
        rest = results[rows * count :]
        if not wants_value:
            return arrange_results(J, None, trace, rest, wants_value)
        value = trace.rebuild(rest[:rows])
        return arrange_results(J, value, trace, rest[rows:], wants_value)

    return jacobian


def _check_options(mode: Mode, chunk_size: int | None) -> None:
    if mode not in (None, "forward", "reverse"):
        raise InputError(
            f"mode={mode!r} is not known, at {user_location()}. It is 'forward', 'reverse', or "
            "None for the cheaper one."
        )
    if chunk_size is not None and (not is_int(chunk_size) or chunk_size < 1):
        raise InputError(
            f"chunk_size={chunk_size!r} is no positive int, at {user_location()}. Give the number "
            "of columns or rows to compute at a time, or None for all."
        )


def _refuse_complex(inputs: Inputs) -> None:
    if any(type_of(x).dtype.kind == "c" for x in inputs.operands):
        raise InputError(
            f"the Jacobian by a complex argument was asked for at {user_location()}. Pass "
            "holomorphic=True if the function is holomorphic; else differentiate it as a function "
            "of real and imaginary parts."
        )


def _assemble(blocks: Sequence[Any], inputs: Inputs, trace: Trace, selection: Selection) -> Any:
    """Put the blocks, row by row, into containers like the inputs, in one like the output."""
    columns = len(inputs.operands)
    rows = [
        selection.of(inputs.rebuild(blocks[k * columns : (k + 1) * columns]))
        for k in range(sum(trace.numeric))
    ]
    if trace.structure.has_labels:
        found, others = iter(rows), iter(trace.others)
        return unflatten_rows(
            trace.structure, [next(found if flag else others) for flag in trace.numeric]
        )
    return trace.rebuild(rows)


@typed_as[Jacobian]()
@transform
def jacobian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    mode: Mode = None,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    has_aux: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return a function that computes the Jacobian, ``J[i, j] = ∂yᵢ/∂xⱼ``.

    All columns are pushed forward, or all rows pulled back, in one batched pass.  With
    ``sparse=True`` only the entries that may differ from zero are computed; where they are is found
    (see `sparsity`).

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`.
    mode
        ``"forward"``: by columns, at the cost of one push per element of the inputs; or
        ``"reverse"``: by rows, one pull per element of the outputs.  By default the cheaper.
    chunk_size
        How many columns or rows are computed at a time, to bound the memory of what is between
        inputs and outputs; by default all.
    progress
        Whether to say on stderr how far it is, by a bar of tqdm where that is installed.  It goes
        chunk by chunk: 32 of them, unless `chunk_size` is given.  Nothing is said where only
        one pass is made, by sparse matrices, and while the call itself is traced.
    holomorphic
        Whether `f` is holomorphic; needed for complex arguments.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    sparse
        Whether to return sparse matrices of shape ``(y.size, x.size)`` in place of arrays.  They
        have the same places at every point, explicit zeros among them.  `mode` says what is done
        where entries are not computed one by one; `chunk_size` is not for them.
    format
        Of sparse matrices: ``"csr"`` (by default) and ``"csc"`` are SciPy's sparse arrays;
        ``"coo"`` is plain arrays ``(data, (rows, columns))``, for which SciPy is not needed.
    sparsity
        The pattern of the sparse matrix, if it is known: a sparse matrix, an array of booleans, or
        what `sparsity` returns.  By default it is found.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a container like its result, of containers like the
        differentiated argument (a tuple of those as by `grad`), of arrays of shape
        ``(*y.shape, *x.shape)``, or sparse matrices; or ``(jacobian, aux)``.

    Raises
    ------
    InputError
        If `mode` or `chunk_size` are none; when called, if a differentiated leaf is an integer or
        boolean array, or complex without ``holomorphic=True``, or if a pattern does not fit.
    OutputError
        When called, if a result is not floating or complex.
    MissingDependencyError
        If sparse matrices of SciPy's are asked for, which is not installed.

    References
    ----------
    Patterns and colours: A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your
    Jacobian?", SIAM Review 47 (2005), 629-705.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacobian(lambda x: np.array([[1.0, 2.0], [3.0, 4.0]]) @ x)(np.zeros(2))
    array([[1., 2.],
           [3., 4.]])
    >>> J = fd.jacobian(lambda x: x[1:] - x[:-1] ** 2, sparse=True)(np.arange(4.0))
    >>> J.toarray()
    array([[ 0.,  1.,  0.,  0.],
           [ 0., -2.,  1.,  0.],
           [ 0.,  0., -4.,  1.]])
    """
    return jacobian_function(
        f, Selection(f, "jacobian", argnums, argnames), mode=mode, chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux,
        sparse=sparse_option(sparse, format, sparsity, mode, chunk_size=chunk_size),
    )  # fmt: skip


@typed_as[JacobianInOneMode]()
@transform
def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    has_aux: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return the function of `jacobian`, computed column by column in forward mode, batched.

    The same as `jacobian` with ``mode="forward"``.

    Parameters
    ----------
    f
        Function of arrays, of any shapes, that returns arrays of any shapes, or containers of them.
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    chunk_size
        How many columns are computed at once, to bound the memory; all unless it is given.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is a holomorphic function of complex numbers.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    sparse, format, sparsity
        Whether, and how, only the entries that may differ from zero are computed and returned as a
        sparse matrix, as for `jacobian`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning the Jacobian: for a result of shape ``s`` and an argument
        of shape ``t`` an array of shape ``(*s, *t)``, in containers as by `jacobian`.

    Raises
    ------
    InputError, OutputError
        When called, as by `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacfwd(lambda x: np.stack([x, x**2]))(3.0)
    array([1., 6.])
    """
    return jacobian_function(
        f, Selection(f, "jacfwd", argnums, argnames), mode="forward", chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux,
        sparse=sparse_option(sparse, format, sparsity, "forward", chunk_size=chunk_size),
    )  # fmt: skip


@typed_as[JacobianInOneMode]()
@transform
def jacrev(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    has_aux: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return the function of `jacobian`, computed row by row in reverse mode, batched.

    The same as `jacobian` with ``mode="reverse"``.

    Parameters
    ----------
    f
        Function of arrays, of any shapes, that returns arrays of any shapes, or containers of them.
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    chunk_size
        How many rows are computed at once, to bound the memory; all unless it is given.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is a holomorphic function of complex numbers.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    sparse, format, sparsity
        Whether, and how, only the entries that may differ from zero are computed and returned as a
        sparse matrix, as for `jacobian`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning the Jacobian: for a result of shape ``s`` and an argument
        of shape ``t`` an array of shape ``(*s, *t)``, in containers as by `jacobian`.

    Raises
    ------
    InputError, OutputError
        When called, as by `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jacrev(lambda x: x[0] * x[1])(np.array([2.0, 5.0]))
    array([5., 2.])
    """
    return jacobian_function(
        f, Selection(f, "jacrev", argnums, argnames), mode="reverse", chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux,
        sparse=sparse_option(sparse, format, sparsity, "reverse", chunk_size=chunk_size),
    )  # fmt: skip


@typed_as[ValueAndJacobian]()
@transform
def value_and_jacobian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    mode: Mode = None,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    has_aux: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return a function that computes a function and its Jacobian together, ``(f, J)``.

    `f` is evaluated once.

    Parameters
    ----------
    f
        Function of arrays, of any shapes, that returns arrays of any shapes, or containers of them.
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    mode
        ``"forward"`` or ``"reverse"``; None for the one that is cheaper.
    chunk_size
        How many rows or columns are computed at once, to bound the memory; all unless it is given.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is a holomorphic function of complex numbers.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    sparse, format, sparsity
        Whether, and how, only the entries that may differ from zero are computed and returned as a
        sparse matrix, as for `jacobian`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning ``(y, jacobian)``, or ``((y, aux), jacobian)`` if
        `has_aux`.

    Raises
    ------
    InputError, OutputError
        As by `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> y, J = fd.value_and_jacobian(np.square)(np.array([1.0, 3.0]))
    >>> y
    array([1., 9.])
    >>> J
    array([[2., 0.],
           [0., 6.]])
    """
    return jacobian_function(
        f, Selection(f, "value_and_jacobian", argnums, argnames), mode=mode, chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux, wants_value=True,
        sparse=sparse_option(sparse, format, sparsity, mode, chunk_size=chunk_size),
    )  # fmt: skip
