"""Mistakes planted by hand, each of which changes results, and which default test notices it.

    python -m tests.mutation.planted [--only N ...] [--stages N]

The work is done in a copy of the tree, which is thrown away.  Of the default tests, those likeliest
to notice run first, then those of the folder, then all.  A survivor is a missing test.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from tests.mutation.run import ROOT, copied, first_failure


class Planted(NamedTuple):
    """A mistake in a module.

    Attributes
    ----------
    path
        The module, below `funcdiff`.
    old, new
        What stands there, once, and what stands there instead.
    breaks
        What is wrong then.
    """

    path: str
    old: str
    new: str
    breaks: str


_PASSES: Final = (
    Planted(
        "passes/algebra.py",
        "abs(mantissa) == 0.5 and abs(exponent) < 14",
        "abs(exponent) < 14",
        "a quotient by any number is a product with its rounded reciprocal",
    ),
    Planted(
        "passes/algebra.py",
        'if x.dtype.kind not in "iu":',
        'if x.dtype.kind not in "iuf":',
        "-0.0 + 0.0 is -0.0",
    ),
    Planted(
        "passes/structure.py",
        "tuple(found[0].axes[axis] for axis in p.axes)",
        "tuple(p.axes[axis] for axis in found[0].axes)",
        "two permutations are composed in the wrong order",
    ),
    Planted(
        "passes/structure.py",
        "if not _holds(x.dtype, origin.dtype):",
        "if x.dtype == origin.dtype:",
        "a conversion through a narrower dtype loses nothing",
    ),
    Planted(
        "passes/structure.py",
        "starts[axis], stops[axis] = first - start, stop - start",
        "starts[axis], stops[axis] = first, stop",
        "a slice of one piece starts where it did in the whole",
    ),
    Planted(
        "passes/structure.py",
        "if found and found[0] == p else None",
        "if found else None",
        "two reversals along different axes cancel",
    ),
    Planted(
        "passes/structure.py",
        "sides[k][axis] for axis in inverse(found[0].axes)",
        "sides[k][axis] for axis in found[0].axes",
        "labels of a permuted operand are permuted the wrong way",
    ),
    Planted(
        "passes/logic.py",
        "emit(select_p, p, found[1][0], y, x)",
        "emit(select_p, p, found[1][0], x, y)",
        "a choice by a negated mask takes the wrong side",
    ),
    Planted(
        "passes/logic.py",
        "sides[k] = found[1][1 + k]",
        "sides[k] = found[1][2 - k]",
        "of nested choices by one mask the wrong side is left",
    ),
    Planted(
        "passes/masking.py",
        "pair = (zeros(value.type), value) if swapped else (value, zeros(value.type))",
        "pair = (value, zeros(value.type))",
        "a mask that keeps its second side keeps the first",
    ),
    Planted(
        "passes/masking.py",
        "return moved, offset - steps[k] * start",
        "return moved, offset + steps[k] * start",
        "a convolution of a padded operand is shifted the wrong way",
    ),
    Planted(
        "passes/masking.py",
        "_mask(self._single, self.supports.record(s), y, swapped=False)",
        "y",
        "a solution of the user's is not masked for examples without a right-hand side",
    ),
    Planted(
        "passes/masking.py",
        "supports.record(shifted(support, p.axis))",
        "supports.record(support)",
        "the support that a recurrence meets is off by one place",
    ),
    Planted(
        "passes/numbers.py",
        "tuple(kept.index(axis) for axis in found[0].axes)",
        "tuple(range(origin.ndim))",
        "what is left of a repeated array lies along the wrong axis",
    ),
    Planted(
        "passes/numbers.py",
        "for first in sorted(pieces)]",
        "for first in pieces]",
        "pieces are joined in the order in which they were added",
    ),
    Planted(
        "passes/numbers.py",
        "if found and splat(found[1][0]) == 0:",
        "if found:",
        "what stood under a piece is forgotten when it is added to another array",
    ),
    Planted(
        "passes/signs.py",
        "return emit(neg_p, NONE, emit(add_p, NONE, found[1][0], y)) if found else None",
        "return emit(add_p, NONE, found[1][0], y) if found else None",
        "(-x) - y is x + y",
    ),
    Planted(
        "passes/bands.py",
        "pair = (zeros(v.type), v) if swapped else (v, zeros(v.type))",
        "pair = (v, zeros(v.type))",
        "a diagonal is kept where a mask puts zeros",
    ),
    Planted(
        "passes/bands.py",
        "slice_along(v, 0, *box), shift=box[0])",
        "slice_along(v, 0, *box), shift=-box[0])",
        "a slice shifts the diagonal the wrong way",
    ),
    Planted(
        "passes/simplify.py",
        "Sharing(strict=True)",
        "Sharing(strict=False)",
        "derivatives of both equal eigenvalues and their vectors raise no error",
    ),
    Planted(
        "passes/supports.py",
        "if self._evaluated is not None and self._evaluated[0] is support:",
        "if self._evaluated is not None:",
        "the value of another support is taken for that of this one",
    ),
    Planted(
        "passes/tiles.py",
        "everywhere or (adds and tiles.get(p.starts, elsewhere))",
        "everywhere or tiles.get(p.starts, elsewhere)",
        "what a written tile held before still counts",
    ),
    Planted(
        "passes/branches.py",
        "mask = tuple(any(flags) for flags in",
        "mask = tuple(all(flags) for flags in",
        "a result with a support in one branch only has none",
    ),
    Planted(
        "passes/products.py",
        "if label in summed.difference(other))",
        "if label in summed)",
        "an axis of both factors is summed before they are multiplied",
    ),
)  # fmt: skip

_BACKEND: Final = (
    Planted(
        "backend/schedule.py",
        "users[atom.number].add(None)",
        "users[atom.number].clear()",
        "an output that a region makes is not stored",
    ),
    Planted(
        "backend/schedule.py",
        "elif blocked and value.in_rows and rows_there == length:",
        "elif blocked and rows_there == length:",
        "a sum over all rows is used before all of them are there",
    ),
    Planted(
        "backend/blocks.py",
        "self._whole if high <= length else self._rest",
        "self._whole if high < length else self._rest",
        "the last block of full length goes to the kernel of the shorter one",
    ),
    Planted(
        "backend/blocks.py",
        "part[self._stored + k] for part in parts",
        "part[self._stored + k] for part in parts[:1]",
        "a sum over blocks has those of the first one only",
    ),
    Planted(
        "backend/kernels.py",
        "run = idle.pop()",
        "run = idle[-1]",
        "calls that run at the same time share their memory",
    ),
    Planted(
        "backend/kernels.py",
        "return not repeatable((eq,))",
        "return False",
        "code of the user's that takes constants runs once for all calls",
    ),
    Planted(
        "backend/kernels.py",
        "if not isinstance(x, Literal) or x.value != 0:",
        "if not isinstance(x, Literal):",
        "what is added to a box of ones is added to zeros",
    ),
    Planted(
        "backend/kernels.py",
        "return distinct and all(atom in made",
        "return all(atom in made",
        "two results of a jitted function are one array",
    ),
    Planted(
        "backend/memory.py",
        "wanted = [v for v in wanted if last[v.number] < len(steps)]",
        "wanted = [v for v in wanted if v.type.shape]",
        "a result lies in memory that the next call overwrites",
    ),
    Planted(
        "backend/loops.py",
        "memory, spare = spare, memory",
        "memory, spare = memory, spare",
        "a carry is written to the memory from which it is read",
    ),
    Planted(
        "backend/loops.py",
        "rows[::-1] if p.reverse else rows",
        "rows",
        "the rows of a loop of numbers that runs backwards are in the wrong order",
    ),
    Planted(
        "backend/unrolling.py",
        "xs[0] if choice.in_place else xs[0].copy()",
        "xs[0]",
        "an array to which is added is used again afterwards",
    ),
    Planted(
        "backend/unrolling.py",
        "last = x.transpose(*kept, *p.axes)",
        "last = x.transpose(*p.axes, *kept)",
        "the wrong axes are reduced",
    ),
    Planted(
        "backend/unrolling.py",
        'np.multiply: ("{} * {}", "1.0"),',
        'np.multiply: ("{} * {}", "0.0"),',
        "the product of nothing is 0",
    ),
    Planted(
        "backend/scalars.py",
        'MAXIMUM: Final = "({0} if {0} >= {1} or {0} != {0} else {1})"',
        'MAXIMUM: Final = "({0} if {0} >= {1} else {1})"',
        "the larger of NaN and a number is the number",
    ),
    Planted(
        "backend/scalars.py",
        '"math.atan2({}, {})"',
        '"math.atan2({1}, {0})"',
        "sine and cosine of an angle are exchanged",
    ),
    Planted(
        "backend/triangles.py",
        "found[made] = not found[operand]",
        "found[made] = found[operand]",
        "a transposed triangle is still the lower one",
    ),
    Planted(
        "backend/triangles.py",
        "looked_at[atom].add(None)",
        "looked_at[atom].add(True)",
        "of a product that is returned one triangle is computed",
    ),
    Planted(
        "backend/triangles.py",
        "place[...] = 0.0",
        "place[...] = place",
        "blocks of zeros are left as the memory was",
    ),
    Planted(
        "backend/broadcasting.py",
        "views.pop(_number(atom), None)",
        "views.get(_number(atom), None)",
        "an output is not broadcast",
    ),
    Planted(
        "backend/constants.py",
        "if small and known and not impure(eq) and not",
        "if small and known and not",
        "what has effects runs once for all calls",
    ),
    Planted(
        "backend/text/templates.py",
        "return written(eq, xs) if booleans else call(function, *xs)",
        "return written(eq, xs)",
        "the logic of numbers is written as that of bits",
    ),
    Planted(
        "backend/text/templates.py",
        'if widens and dtype.kind not in "fc" and dtype != np.int64:',
        'if widens and dtype.kind not in "fciu" and dtype != np.int64:',
        "a sum of small integers is written without its dtype",
    ),
    Planted(
        "backend/text/literals.py",
        'return plain if weak else build("f(x)", f=dtype_of(value.dtype), x=plain)',
        "return plain",
        "a number of a narrow dtype is written as one of Python's",
    ),
    Planted(
        "backend/text/writer.py",
        'value if isinstance(first, Literal) else call("np.array", value)',
        "value",
        "a written function overwrites its argument",
    ),
    Planted(
        "backend/text/writer.py",
        "if owned and isinstance(first, Var) and self._uses[first.number] == 1:",
        "if owned and isinstance(first, Var):",
        "a written function overwrites an array that it needs again",
    ),
)  # fmt: skip

_NUMPY: Final = (
    Planted(
        "numpy/indexing.py",
        "before = 0  # apart from each other: their axes come first",
        "pass",
        "axes of index arrays that stand apart do not come first",
    ),
    Planted(
        "numpy/indexing.py",
        "return position % length",
        "return position",
        "a position counted from the end is taken as it is",
    ),
    Planted(
        "numpy/ufuncs.py",
        "direct.get((ufunc, *[x.type for x in arrays]))",
        "direct.get((ufunc, *[arrays[0].type for x in arrays]))",
        "an operation is recorded as for operands of one type",
    ),
    Planted(
        "numpy/ufuncs.py",
        "(x, y) if right else (y, x)",
        "(x, y)",
        "a number on the left goes to the right the second time",
    ),
    Planted(
        "numpy/promotion.py",
        "if not value or (type(value) is complex and not (value.real and value.imag)):",
        "if type(value) is complex and not (value.real and value.imag):",
        "0.0 and -0.0 are the same number",
    ),
    Planted(
        "numpy/statistics.py",
        "accumulator = SINGLE if half else _accumulator(x, dtype, out)",
        "accumulator = _accumulator(x, dtype, out)",
        "a mean of float16 is added up in float16",
    ),
    Planted(
        "numpy/statistics.py",
        "conj(permute(X if w is None else X * w, (1, 0)))",
        "permute(X if w is None else X * w, (1, 0))",
        "the conjugate is forgotten in a covariance",
    ),
    Planted(
        "numpy/statistics.py",
        "np.maximum(count - ddof, 0)",
        "count - ddof",
        "a variance with more degrees taken than there are is finite",
    ),
    Planted(
        "numpy/statistics.py",
        "tuple(sorted(range(w.ndim), key=given_axes.__getitem__))",
        "tuple(range(w.ndim))",
        "weights along axes in another order are not turned around",
    ),
    Planted(
        "numpy/statistics.py",
        '(name == "y" and x.shape[0] == 1)',
        "False",
        "a second variable of one row is turned into a column",
    ),
    Planted(
        "numpy/cumulative.py",
        '[edge, *parts] if name == "to_begin" else [*parts, edge]',
        "[*parts, edge]",
        "what is put before differences comes behind them",
    ),
    Planted(
        "numpy/cumulative.py",
        "spacing[max(n - 3, 0)], spacing[n - 2]]",
        "spacing[n - 2], spacing[max(n - 3, 0)]]",
        "the last two distances of a gradient are exchanged",
    ),
    Planted(
        "numpy/joining.py",
        "concatenate((array(arr), array(values)), axis)",
        "concatenate((array(arr), array(values)), None)",
        "np.append ignores its axis",
    ),
    Planted(
        "numpy/joining.py",
        "new = fit(new, new.type.with_dtype(x.dtype))",
        "",
        "inserted values keep their dtype",
    ),
    Planted(
        "numpy/joining.py",
        "return concatenate(rows, place, out, dtype=dtype, casting=casting)",
        "return concatenate(rows, place, out, dtype=dtype)",
        "np.stack ignores its casting",
    ),
    Planted(
        "numpy/nans.py",
        "deviation * np.conjugate(deviation)",
        "deviation * deviation",
        "the conjugate is forgotten in a variance without NaN",
    ),
    Planted(
        "numpy/nans.py",
        "np.where(mask, 0, (x - centre).astype(x.dtype))",
        "(x - centre).astype(x.dtype)",
        "NaN counts as zero in a variance",
    ),
    Planted(
        "numpy/fourier.py",
        "signal = conj(array(a))",
        "signal = array(a)",
        "the conjugate is forgotten in np.fft.hfft",
    ),
    Planted(
        "numpy/fourier.py",
        "sign * (x.shape[axis] // 2)",
        "sign * ((x.shape[axis] + 1) // 2)",
        "an odd number of frequencies is shifted by one too many",
    ),
    Planted(
        "numpy/sorting.py",
        'side: ops.Side = "left" if right else "right"',
        'side: ops.Side = "right" if right else "left"',
        "an edge belongs to the other bin",
    ),
    Planted(
        "numpy/selecting.py",
        "zip(reversed(masks), reversed(choices), strict=True)",
        "zip(masks, choices, strict=True)",
        "of several true conditions the last one counts",
    ),
    Planted(
        "numpy/selecting.py",
        "dtype = values[0].dtype  # the first result decides, as in NumPy",
        "dtype = values[-1].dtype",
        "the last result decides on the dtype",
    ),
    Planted(
        "numpy/reductions.py",
        "y = reduce_prod(*_with_initial(x, axes, initial)) if given(initial) else",
        "y = reduce_prod(x, axes) if given(initial) else",
        "np.prod ignores its initial value",
    ),
    Planted(
        "numpy/reductions.py",
        "entries = reshape(permute(x, (*kept, *axes)), (*shape, count))",
        "entries = reshape(x, (*shape, count))",
        "axes in front are reduced as if they were the last ones",
    ),
)  # fmt: skip

_API: Final = (
    Planted(
        "api/jit.py",
        "types.append((type_of(x), is_weak(leaf), is_array_without_axes(leaf)))",
        "types.append((type_of(x), False, is_array_without_axes(leaf)))",
        "a Python number and a NumPy one share a program",
    ),
    Planted(
        "api/jit.py",
        "[(x.shape, x.dtype) if type(x) is np.ndarray else type(x) for x in args]",
        "[x.shape if type(x) is np.ndarray else type(x) for x in args]",
        "arrays of different dtypes share a program",
    ),
    Planted(
        "api/jit.py",
        "return plain and not kwargs and not self._numbers",
        "return plain and not kwargs",
        "calls with different static numbers share a program",
    ),
    Planted(
        "api/jit.py",
        "kept = lasting(trace.captures)",
        "kept = trace.captures",
        "a jitted function sees later changes of an array that it closes over",
    ),
    Planted(
        "api/jit.py",
        "owns = isinstance(execute, Unrolled) or owns_results(program)",
        "owns = True",
        "a jitted function returns its argument itself",
    ),
    Planted(
        "api/jit.py",
        "self._direct.clear()",
        "pass",
        "a program is run after the cache was cleared",
    ),
    Planted(
        "api/tracing.py",
        "return owned(results, operands)",
        "return results",
        "results share memory with the arguments",
    ),
    Planted(
        "api/tracing.py",
        "return [mutation.fresh(y) for y in inline(program, tracers)]",
        "return inline(program, tracers)",
        "a change in place of a derivative changes an argument",
    ),
    Planted(
        "api/products.py",
        "x.copy() if isinstance(x, np.ndarray) and id(x) in ours else x for x in residuals",
        "x for x in residuals",
        "a pullback changes when the value is written to",
    ),
    Planted(
        "api/products.py",
        "has_aux=has_aux, keeps_aux=True, weak=inputs.weak)",
        "has_aux=has_aux, keeps_aux=True)",
        "a Python number is no longer weak under jvp",
    ),
    Planted(
        "api/blocks.py",
        "chunks.append([image[start - first :] for image in images])",
        "chunks.append(images)",
        "the last chunk of a Jacobian counts columns twice",
    ),
    Planted(
        "api/blocks.py",
        "permute(part, (*range(1, part.ndim), 0))",
        "permute(part, tuple(range(part.ndim)))",
        "columns of a Jacobian are taken for rows",
    ),
    Planted(
        "api/batching.py",
        "axes += [0 for _ in leaves[len(axes) :]]",
        "axes += [None for _ in leaves[len(axes) :]]",
        "arguments by keyword are shared by all examples",
    ),
    Planted(
        "api/axes.py",
        "inner = [by_key[key] for key in keys]",
        "inner = list(entries)",
        "axes in a dict are matched by their order",
    ),
    Planted(
        "api/axes.py",
        "return np.moveaxis(value, 0, axis)",
        "return np.swapaxes(value, 0, axis)",
        "the axis of the examples changes places with another one",
    ),
    Planted(
        "api/scanning.py",
        "in reversed(pieces) if p.reverse else pieces:",
        "in pieces:",
        "segments of a loop that runs backwards run forwards",
    ),
    Planted(
        "api/scanning.py",
        "for _, ys in sorted(stacks, key=lambda stack: stack[0])]",
        "for _, ys in stacks]",
        "rows of segments are stacked in the order in which they ran",
    ),
    Planted(
        "api/prefixes.py",
        "combined([x[: n - 1 : 2] for x in xs], [x[1::2] for x in xs])",
        "combined([x[1::2] for x in xs], [x[: n - 1 : 2] for x in xs])",
        "neighbours are combined in the wrong order",
    ),
    Planted(
        "api/custom_call.py",
        "[conj(ct) for ct in tracers[len(residuals) :]]",
        "list(tracers[len(residuals) :])",
        "a backward rule is given the conjugate of the cotangent",
    ),
    Planted(
        "api/custom_call.py",
        "*captured[start : start + own]]",
        "*captured[:own]]",
        "a rule gets the captures of the function",
    ),
    Planted(
        "api/control.py",
        "(false_fn, true_fn), operands)",
        "(true_fn, false_fn), operands)",
        "the branches of a condition are exchanged",
    ),
    Planted(
        "api/control.py",
        "min(max(operator.index(np.asarray(index)[()]), 0), len(functions) - 1)",
        "min(operator.index(np.asarray(index)[()]), len(functions) - 1)",
        "a branch below zero is counted from the end",
    ),
    Planted(
        "api/implicit.py",
        "if change <= tol * (1 + _largest(after)):",
        "if change <= tol:",
        "large fixed points never converge",
    ),
    Planted(
        "api/curvature.py",
        "jvp(_gradient(\"gauss_newton_product\", loss), (y,), (pushed,))",
        "jvp(_gradient(\"gauss_newton_product\", loss), (pushed,), (y,))",
        "a point and a direction are exchanged",
    ),
    Planted(
        "api/hessian.py",
        "gradient, selection, mode=\"forward\", chunk_size=chunk_size,\n"
        "        holomorphic=holomorphic, has_aux=has_aux, wants_value=False,",
        "gradient, selection, mode=\"forward\", chunk_size=chunk_size,\n"
        "        holomorphic=False, has_aux=has_aux, wants_value=False,",
        "a Hessian is never holomorphic",
    ),
    Planted(
        "api/calls.py",
        "if not x.shape and is_array_without_axes(x)",
        "if False",
        "a derivative by an array without axes is a number",
    ),
)  # fmt: skip

_REST: Final = (
    Planted(
        "transforms/transpose.py",
        "ct if before is None else add(before, ct)",
        "ct",
        "of several cotangents of a variable the last one counts",
    ),
    Planted(
        "transforms/linearize.py",
        "[residuals[k] for k in keep]",
        "residuals[: len(keep)]",
        "other residuals are kept than are used",
    ),
    Planted(
        "transforms/vmap.py",
        "(ys[k],) = align(size, [ys[k]], [False])",
        "pass",
        "a result that is the same for all examples has no axis for them",
    ),
    Planted(
        "core/overwriting.py",
        "if owner < 0 or self._needed[owner] > index or others & {owner, _UNCERTAIN}:",
        "if owner < 0 or others & {owner, _UNCERTAIN}:",
        "an array is overwritten that is needed afterwards",
    ),
    Planted(
        "core/overwriting.py",
        "return lambda x, *rest: function(np.array(x), *rest)",
        "return lambda x, *rest: function(x, *rest)",
        "an operand is overwritten",
    ),
    Planted(
        "core/dependence.py",
        "if any(arriving):",
        "if all(arriving):",
        "a result depends on an operand only if it depends on all",
    ),
)  # fmt: skip

MUTANTS: Final = (*_PASSES, *_BACKEND, *_NUMPY, *_API, *_REST)

NEAR: Final[dict[str, list[str]]] = {
    "passes": ["tests/passes", "tests/semantics/test_masks.py", "tests/semantics/test_kinks.py"],
    "backend": ["tests/backend", "tests/api/test_jit.py", "tests/api/test_loops.py"],
    "numpy": ["tests/numpy"],
    "api": ["tests/api"],
    "transforms": ["tests/transforms", "tests/api"],
    "core": ["tests/core", "tests/api"],
}
"""Which tests are likeliest to notice a mistake in a package."""

NEXT: Final = ["tests/semantics", "tests/compositions", "tests/patterns", "tests/properties"]
"""Which tests are likeliest to notice what those do not; then come all."""


def stages_of(mutant: Planted) -> list[list[str]]:
    """Return the tests to run, the likeliest to notice first; an empty list is all of them."""
    folder = mutant.path.split("/")[0]
    own = Path("tests") / folder / f"test_{Path(mutant.path).stem}.py"
    return [*([[str(own)]] if (ROOT / own).exists() else []), NEAR[folder], NEXT, []]


def outcomes(numbers: list[int], stages: int) -> Iterator[tuple[int, str, float]]:
    """Yield the number of each mutant, the test that notices it or "", and the seconds."""
    with copied() as where:
        for k in numbers:
            mutant = MUTANTS[k]
            target = where / "funcdiff" / mutant.path
            right = target.read_text()
            target.write_text(right.replace(mutant.old, mutant.new))
            start, found = monotonic(), ""
            for tests in stages_of(mutant)[:stages]:
                found = found or first_failure(tests, where, None)
            target.write_text(right)
            yield k, found, monotonic() - start


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", type=int, help="numbers of mutants")
    parser.add_argument("--stages", type=int, default=4, help="leave out wider runs of tests")
    given = parser.parse_args()
    alive = []
    for k, found, seconds in outcomes(given.only or [*range(len(MUTANTS))], given.stages):
        mutant = MUTANTS[k]
        print(f"{k:3} {seconds:5.0f} s  {mutant.path}: {mutant.breaks}", flush=True)
        print(f"             {found or 'SURVIVES'}", flush=True)
        if not found:
            alive.append(k)
    print(f"\n{len(alive)} survive{''.join(f' {k}' for k in alive)}")


if __name__ == "__main__":
    main()
