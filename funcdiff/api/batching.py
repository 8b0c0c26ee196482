"""Batching: `vmap`, a function of one example as a function of all of them.

Which axis of each leaf counts the examples, containers of axes say, matched like a prefix.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

import funcdiff.passes as passes
from funcdiff import pytree
from funcdiff.api.calls.arguments import check_function, is_int, is_numeric, refuse_foreign
from funcdiff.api.calls.inputs import Operands, operand, type_of
from funcdiff.api.calls.tracing import nested_policy, record, run
from funcdiff.api.calls.transformed import transform
from funcdiff.api.signatures.functions import with_options
from funcdiff.api.signatures.variables import MappedAxes, P, Y
from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.recording.entries import Recording
from funcdiff.core.recording.quiet import errors_are_heard
from funcdiff.core.running.decisions import Decisions, type_of_variable
from funcdiff.core.running.memo import memoised
from funcdiff.core.scope import recording_in
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.pytree.registry import kinds
from funcdiff.pytree.structure import slice_structure
from funcdiff.transforms.jvp import Mask
from funcdiff.transforms.vmap import vmap as vmap_program


def leaf_axes(axes: Any, tree: Any, name: str, values: str, path: str = "") -> list[int | None]:
    """Return one axis for each leaf from a container of axes that is a prefix of the tree.

    `axes` is an int or None for all leaves, or a container with one entry per child of `tree`;
    `name` and `values` are what messages call the two, ``in_axes`` and ``args``, and `path` is the
    present place in both.  Raises `InputError` if they do not fit.
    """
    if axes is None or is_int(axes):
        count = pytree.flatten(tree)[1].leaf_count
        return [None if axes is None else operator.index(axes)] * count
    pairs = _children(axes, tree, name, values, path)
    return [
        axis
        for entry, inner, value in pairs
        for axis in leaf_axes(inner, value, name, values, path + entry)
    ]


def _children(
    axes: Any, tree: Any, name: str, values: str, path: str
) -> list[tuple[str, Any, Any]]:
    """Return entry of the path, axes and value of each child."""
    kind, other = kinds[type(tree)], kinds[type(axes)]
    sequences = isinstance(axes, list | tuple) and type(tree) in (list, tuple)
    if kind is None or other is None or not (kind.cls is other.cls or sequences):
        raise InputError(
            f"{name}{path} {axes!r} does not fit {values}{path}, which is "
            f"{_description(tree)}, at {user_location()}. Give an int, None, or a container like a "
            "prefix of the value."
        )
    children, aux = kind.to_children(tree)
    entries, entry_aux = other.to_children(axes)
    inner, outer = list(entries), list(children)
    if kind.keys is not None and other.keys is not None:
        by_key = dict(zip(other.keys(entry_aux), inner, strict=True))
        keys = kind.keys(aux)
        if by_key.keys() != set(keys):
            raise InputError(
                f"{name}{path} has the keys {', '.join(map(repr, by_key))}, but {values}{path} has "
                f"{', '.join(map(repr, keys))}, at {user_location()}. Give one entry per key."
            )
        inner = [by_key[key] for key in keys]
    if len(inner) != len(outer):
        raise InputError(
            f"{name}{path}={axes} has {len(inner)} entries for {len(outer)} values of "
            f"{values}{path}, at {user_location()}. Give one per value, or a single int."
        )
    return list(zip(kind.entries(aux, len(outer)), inner, outer, strict=True))


def _description(tree: Any) -> str:
    structure = pytree.flatten(tree)[1]
    return f"a {type(tree).__name__}" if structure is pytree.LEAF else str(structure)


# ---- values with the axis of the examples in front -------------------------------------------


def cure_of_list(path: str, x: Any) -> str:
    """Return the advice to give an array in place of a list, of which a leaf is an item."""
    is_item = not np.ndim(x) and re.search(r"(^|\])\[\d+\]$", path)
    return "A list is a container, not a batch: give np.array([...]). " if is_item else ""


def move_to_front(leaf: Any, axis: int, path: str) -> Any:
    """Return a leaf with the axis of the examples in front."""
    x = operand(leaf)
    if not -x.ndim <= axis < x.ndim:
        shared = (
            "Let the function close over values that all examples share (functools.partial)."
            if path.startswith("kwargs")
            else "Use None in in_axes for values that all examples share."
        )
        raise InputError(
            f"vmap: {path} of shape {x.shape} has no axis {axis}, at {user_location()}. "
            f"{cure_of_list(path, x)}{shared}"
        )
    return x if axis == 0 else np.moveaxis(x, axis, 0)


def move_from_front(value: Any, axis: int | None, path: str, *, varies: bool) -> Any:
    """Return a result with the axis of the examples where it was asked for, or without it."""
    if axis is None:
        if varies:
            raise InputError(
                f"out_axes is None for {path}, which differs from example to example, "
                f"at {user_location()}. Give the axis to put the examples on."
            )
        return value[0]
    if not -value.ndim <= axis < value.ndim:
        raise InputError(
            f"vmap: {path} has {value.ndim} axes, that of the examples included, so it cannot be "
            f"axis {axis}, at {user_location()}. Give an axis from {-value.ndim} to "
            f"{value.ndim - 1}."
        )
    return np.moveaxis(value, 0, axis)


def batch_size(values: Sequence[Any], axis_size: int | None, paths: Sequence[str]) -> int:
    """Return the number of examples, on which all values agree."""
    sizes = {path: int(x.shape[0]) for path, x in zip(paths, values, strict=True)}
    if axis_size is not None:
        if not is_int(axis_size) or axis_size < 0:
            raise InputError(
                f"vmap: axis_size={axis_size!r} is not a number of examples, at {user_location()}"
            )
        sizes = {**sizes, "axis_size": operator.index(axis_size)}
    if not sizes:
        raise InputError(
            f"vmap maps over no argument, at {user_location()}: in_axes is None for all, or "
            "none of them is an array. Give axis_size=, or an argument with an axis."
        )
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{path}: {n}" for path, n in sizes.items())
        raise InputError(
            f"vmap: sizes of the mapped axes disagree, at {user_location()}: {shown}. Map axes "
            "of one length, or share a value with None in in_axes."
        )
    return next(iter(sizes.values()))


# ---- vmap ----------------------------------------------------------------------------------------


@with_options
@transform
def vmap(
    f: Callable[P, Y],
    in_axes: MappedAxes = 0,
    out_axes: MappedAxes = 0,
    axis_size: int | None = None,
) -> Callable[P, Y]:
    """Return `f` applied to every example along an axis, as one program without a loop.

    Parameters
    ----------
    f
        Function of one example.
    in_axes
        Which axis of each positional argument counts the examples: an int, from the end if it is
        negative, None for an argument that all examples share, or a tuple with one entry per
        argument, each of which may be a container like a prefix of the argument.  Of arguments
        by keyword, axis 0 of every array counts the examples, whatever `in_axes` says; strings,
        flags and other values that are no arrays are shared.
    out_axes
        Where the axis is put in the results: an int, None for a result that does not differ, or
        a container of these like a prefix of the result.
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
    ConcreteValueError
        If Python decides by a value, ``if x > 0``, that is not the same for all examples.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    >>> fd.vmap(lambda p: p["x"] * p["scale"], in_axes=({"x": -1, "scale": None},))(
    ...     {"x": np.array([1.0, 2.0]), "scale": 3.0}
    ... )
    array([3., 6.])
    """
    check_function(f, "vmap")

    def vmap_f(*args: P.args, **kwargs: P.kwargs) -> Any:
        leaves, structure = pytree.flatten((args, kwargs))
        axes = leaf_axes(in_axes, args, "in_axes", "args")
        axes += [0 for _ in leaves[len(axes) :]]
        # strings, flags and functions are the same for every example
        for leaf in leaves:
            if not is_numeric(leaf):
                refuse_foreign(leaf, "vmap", f)
        axes = [k if is_numeric(leaf) else None for k, leaf in zip(axes, leaves, strict=True)]
        paths = [
            (f"args{path[3:]}" if path.startswith("[0]") else f"kwargs{path[3:]}")
            for path in pytree.paths(structure)
        ]
        mapped = [k for k, axis in enumerate(axes) if axis is not None]
        moved = [
            move_to_front(leaf, axis, path)
            for leaf, axis, path in zip(leaves, axes, paths, strict=True)
            if axis is not None
        ]
        size = batch_size(moved, axis_size, [paths[k] for k in mapped])
        types = [type_of(x).with_shape(x.shape[1:]) for x in moved]
        one = slice_structure(structure, axes)

        def call(tracers: list[Tracer]) -> Any:
            changed = list(leaves)
            for k, tracer in zip(mapped, tracers, strict=True):
                changed[k] = tracer
            positional, named = pytree.unflatten(one, changed)
            try:
                return f(*positional, **named)
            except (IndexError, ValueError) as error:  # an axis that is missing, perhaps
                shown = ", ".join(f"{paths[k]}: {t}" for k, t in zip(mapped, types, strict=True))
                error.add_note(f"funcdiff: vmap calls the function for one example, with {shown}")
                raise

        if errors_are_heard() and size:  # each operation, when it is there
            value = join_rows([call([x[k] for x in moved]) for k in range(size)])
            numeric = list(map(is_numeric, pytree.flatten(value)[0]))
            return _place_axes(value, out_axes, tuple(numeric), (True,) * sum(numeric))
        policy = nested_policy(0, eager=False)
        agreed = partial(_Agreement, size)
        trace = record(f, moved, call, policy, types=types, decisions=agreed, as_given=True)
        program, varies = _batch_program(trace.recording, size, len(moved))
        results = run(program, [*moved, *trace.captures], trace)
        value = trace.rebuild(results)
        if type(out_axes) is int and out_axes == 0:
            return value
        return _place_axes(value, out_axes, trace.numeric, varies)

    return vmap_f


def join_rows(parts: Iterable[Any], how: Callable[[Sequence[Any]], Any] = np.stack) -> Any:
    """Return results of several calls as one, joined; what is no array is that of the first."""
    first, *others = map(Operands, parts)
    columns = zip(first.xs, *(other.xs for other in others), strict=True)
    return first.tree([how(ys) for ys in columns])


class _Agreement(Decisions):
    """The decisions of a function of one example: outcomes that all examples agree on."""

    is_sure = False

    def __init__(self, size: int, builder: Builder, operands: Sequence[Any]) -> None:
        super().__init__(builder, [])
        self._size, self._stacks = size, operands

    def _outcome(self, atom: Ref) -> int | None:
        if isinstance(atom, Literal):
            return int(atom.array)
        builder = self._builder
        type_ = type_of_variable(builder, atom)
        recording = builder.recording([Builder.handle(builder, atom, type_)])
        program, _ = _batch_program(recording, self._size, len(self._stacks))
        with recording_in(builder.parent):
            (outcomes,) = run(program, [*self._stacks, *builder.captures])
            agree = self._size > 0 and bool(np.all(outcomes == outcomes[0]))
            return int(outcomes[0]) if agree else None


def _place_axes(value: Any, out_axes: Any, numeric: Sequence[bool], varies: Mask) -> Any:
    """Return a result with the examples on the axes that were asked for."""
    leaves, structure = pytree.flatten(value)
    if structure.has_labels and out_axes != 0:
        raise InputError(
            f"vmap: out_axes={out_axes!r} was given for a result with labels, at "
            f"{user_location()}, where axes are known by name. Leave it out, and transpose."
        )
    places = leaf_axes(out_axes, value, "out_axes", "result")
    flags = iter(varies)
    placed = [
        move_from_front(leaf, axis, f"result{path}", varies=next(flags)) if flag else leaf
        for leaf, axis, flag, path in zip(
            leaves, places, numeric, pytree.paths(structure), strict=True
        )
    ]
    return pytree.unflatten(structure, placed)


@memoised
def _batch_program(recording: Recording, size: int, count: int) -> tuple[Program, Mask]:
    """Return the batched program, and which of its outputs differ from example to example."""
    program = passes.recorded.recorded(recording)
    flags: Mask = (True,) * count + (False,) * (len(program.inputs) - count)
    varies = vmap_program(program, size, flags)[1]
    batched, _ = vmap_program(program, size, flags, (True,) * len(program.outputs))
    return passes.simplify.simplify(batched), varies
