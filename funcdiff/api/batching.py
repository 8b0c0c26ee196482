"""Batching: `vmap`, a function of one example as a function of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.arguments import is_numeric, operand, type_of
from funcdiff.api.signatures import P, Y
from funcdiff.api.tracing import rebuild, record, run
from funcdiff.core.builder import Tracer
from funcdiff.core.memo import memoised
from funcdiff.core.program import Program
from funcdiff.core.recording import Recording, program_of
from funcdiff.errors import InputError, user_location
from funcdiff.passes.simplify import simplify
from funcdiff.transforms.jvp import Mask
from funcdiff.transforms.vmap import vmap as vmap_program


def vmap(
    f: Callable[P, Y],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
) -> Callable[P, Y]:
    """Return `f` applied to every example along an axis, as one program without a loop.

    Parameters
    ----------
    f
        Function of one example.
    in_axes
        Which axis of each positional argument counts the examples: an int, None for an argument
        that all examples share, or a tuple with one entry per argument, each of which may be a
        container like a prefix of the argument.  Arguments by keyword are shared.
    out_axes
        Where the axis is put in the results, an int or a container of ints like a prefix of the
        result.
    axis_size
        Number of examples; needed only if no argument has the axis.

    Returns
    -------
    callable
        Of arguments with the further axis, returning results with it.

    Raises
    ------
    InputError
        If axes do not fit the arguments or the sizes disagree.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """

    @wraps(f)
    def batched(*args: P.args, **kwargs: P.kwargs) -> Any:
        leaves, structure = pytree.flatten(args)
        axes = _leaf_axes(in_axes, args, structure, "in_axes")
        mapped = [k for k, axis in enumerate(axes) if axis is not None]
        moved = [_moved(leaves[k], axes[k], pytree.paths(structure)[k]) for k in mapped]
        size = _size(moved, axis_size, [pytree.paths(structure)[k] for k in mapped])
        types = [type_of(x).with_shape(x.shape[1:]) for x in moved]

        def call(tracers: list[Tracer]) -> Any:
            changed = list(leaves)
            for k, tracer in zip(mapped, tracers, strict=True):
                changed[k] = tracer
            return f(*pytree.unflatten(structure, changed), **kwargs)

        trace = record(f, moved, call, eager=False, types=types)
        program, varies = _batched_program(trace.recording, size, len(moved))
        results = run(program, [*moved, *trace.captures], trace)
        value = rebuild(trace.structure, trace.numeric, results, trace.others)
        if isinstance(out_axes, int) and out_axes == 0:
            return value
        values, out_structure = pytree.flatten(value)
        places = _leaf_axes(out_axes, value, out_structure, "out_axes")
        flags = iter(varies)
        placed = [
            _placed(v, axis, path, varies=next(flags)) if numeric else v
            for v, axis, numeric, path in zip(
                values, places, trace.numeric, pytree.paths(out_structure), strict=True
            )
        ]
        return pytree.unflatten(out_structure, placed)

    return batched


@memoised
def _batched_program(recording: Recording, size: int, count: int) -> tuple[Program, Mask]:
    """Return the batched program, and which of its outputs differ from example to example."""
    program = simplify(program_of(*recording))
    flags: Mask = (True,) * count + (False,) * (len(program.inputs) - count)
    varies = vmap_program(program, size, flags)[1]
    batched, _ = vmap_program(program, size, flags, (True,) * len(program.outputs))
    return simplify(batched), varies


def _placed(value: Any, axis: int | None, path: str, *, varies: bool) -> Any:
    """Return a result with the axis of the examples where it was asked for, or without it."""
    if axis is not None:
        return np.moveaxis(value, 0, axis)
    if varies:
        raise InputError(
            f"out_axes is None for the result{path}, which differs from example to example, "
            f"at {user_location()}. Give the axis to put the examples on."
        )
    return value[0]


def _leaf_axes(axes: Any, tree: Any, structure: pytree.Structure, what: str) -> list[int | None]:
    """Return one axis per leaf from a container of axes that is a prefix of the tree."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * structure.leaf_count
    if isinstance(axes, list | tuple) and isinstance(tree, list | tuple):
        if len(axes) != len(tree):
            raise InputError(
                f"{what}={axes} has {len(axes)} entries for {len(tree)} values, "
                f"at {user_location()}. Give one per value, or a single int."
            )
        pairs = list(zip(axes, tree, strict=True))
    elif isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
        pairs = [(axes[key], value) for key, value in tree.items()]
    else:
        raise InputError(
            f"{what} {axes!r} does not fit {structure}, at {user_location()}. Give an int, None, "
            "or a container like a prefix of the value."
        )
    return [
        axis
        for entry, value in pairs
        for axis in _leaf_axes(entry, value, pytree.flatten(value)[1], what)
    ]


def _moved(leaf: Any, axis: int | None, path: str) -> Any:
    """Return a leaf with the axis of the examples in front."""
    if not is_numeric(leaf) and not isinstance(leaf, np.ndarray):
        raise InputError(
            f"vmap cannot map over args{path}, a {type(leaf).__name__}, at {user_location()}. "
            "Use None in in_axes for values that all examples share."
        )
    x = operand(leaf)
    assert axis is not None
    if not -x.ndim <= axis < x.ndim:
        raise InputError(
            f"vmap: args{path} of shape {x.shape} has no axis {axis}, at {user_location()}. "
            "Use None in in_axes for values that all examples share."
        )
    return x if axis == 0 else np.moveaxis(x, axis, 0)


def _size(values: Sequence[Any], axis_size: int | None, paths: Sequence[str]) -> int:
    sizes = {path: int(x.shape[0]) for path, x in zip(paths, values, strict=True)}
    if axis_size is not None:
        sizes = {**sizes, "axis_size": axis_size}
    if not sizes:
        raise InputError(
            f"vmap maps over no argument, at {user_location()}: in_axes is None everywhere. Give "
            "axis_size=, or an axis of an argument."
        )
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{'args' if p != 'axis_size' else ''}{p}: {n}" for p, n in sizes.items())
        raise InputError(f"vmap: sizes of the mapped axes disagree, at {user_location()}: {shown}")
    return next(iter(sizes.values()))
