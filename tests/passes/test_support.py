"""Supports: they hold every entry that is not zero, and cost no more than what they support."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, primitives
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.text.parse import parse
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.accumulation import recurrence_p
from funcdiff.ops.axes.indexing import Indexed, Written, gather_p, scatter_add_p, scatter_p
from funcdiff.ops.axes.reductions import cumsum_p
from funcdiff.ops.control.rematerialization import Tap, tap_p
from funcdiff.ops.elementwise.complex import conj_p, imag_p, join_p, real_p
from funcdiff.ops.elementwise.mathematics import div, sub
from funcdiff.ops.linalg.degeneracy import (
    Averaging,
    Choice,
    Digits,
    Gauge,
    Missing,
    Settling,
    digits_p,
    eigen_differential_p,
    gauge_p,
    mean_over_ties_p,
    require_zero_p,
    simple_spectrum,
)
from funcdiff.ops.linalg.determinants import adjugate_p
from funcdiff.ops.linalg.invariant_subspaces import whole_ties_p
from funcdiff.ops.linalg.matrices import Part, part_p
from funcdiff.ops.linalg.matrix_functions import Spectral, spectral_p
from funcdiff.ops.linalg.orthogonal import Complement, complement_gauge_p, diverge_p
from funcdiff.ops.linalg.pseudoinverse import constant_rank
from funcdiff.ops.linalg.singular import normal_component_p, vanish_on_kernel
from funcdiff.ops.linalg.singular_functions import (
    SingularFunction,
    singular_derivative_p,
)
from funcdiff.ops.linalg.systems import Triangle, solve_p, triangular_solve_p
from funcdiff.ops.products.contract import Contraction, contract_p
from funcdiff.ops.products.convolution import Convolution, convolve_p, sequences
from funcdiff.ops.products.fourier import Fourier, fft_p, ifft_p, irfft_p, rfft_p
from funcdiff.ops.products.masked import (
    MaskedContraction,
    MaskedConvolution,
    masked_contract_p,
    masked_convolve_p,
    masked_sum_p,
)
from funcdiff.ops.structure.slicing import (
    Slice,
    Window,
    add_slice,
    add_slice_p,
    overlap_add_p,
    replace_slice_p,
    slice_p,
    sliding_windows_p,
)
from funcdiff.ops.structure.structural import (
    Axis,
    Dtype,
    Permutation,
    Reversal,
    Shape,
    concatenate_p,
    convert_p,
    permute_p,
    reshape_p,
    reverse,
    reverse_p,
    select_p,
)
from funcdiff.ops.user.solved_equations import LinearSolve, Named, linear_solve_p, named_solve_p
from funcdiff.passes.simplify import simplify_linear
from funcdiff.passes.supports import propagation
from funcdiff.passes.supports.propagation import Support, Supports
from funcdiff.space import Axes, Broadcast, add_p, broadcast_p, mul_p, neg_p, reduce_sum_p, zeros
from tests.passes.rewrites import run
from tests.rules.sample import body
from tests.rules.samples import implicit
from tests.together import together

REAL, COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)
EVEN = Slice((0, 1), (3, 4), (2, 1))


@dataclass(frozen=True)
class Sample:
    """An operation; of its operands, types are masked, shapes are not, arrays are given.

    Unless it is exact, there may be further zeros in its result.
    """

    primitive: Primitive[Any]
    params: Params
    operands: tuple[ArrayType | tuple[int, ...] | np.ndarray[Any, Any], ...]
    exact: bool = True

    def __str__(self) -> str:
        return self.primitive.name


def _masked(*shape: int, dtype: np.dtype[Any] = REAL) -> ArrayType:
    return ArrayType(shape, dtype)


MASK = np.array([[True, False, True, False]] * 3)
NETWORK = Convolution((0, 1), (2, 1), (2, 0), ((1, -2, 1), (1, -1, 2)), (-1, 0), (6, 2))
APART = Convolution((0,), (1,), (1, 0), ((2, -3, 1),), (-1,), (8,))
MASKED = np.where(MASK, np.arange(1.0, 13).reshape(3, 4), 0)
REGULAR = np.stack([np.vander([1.0, 2, 3]), np.vander([1.0, 3, 4])])
APIECE, NOWHERE = np.stack([np.eye(3, dtype=bool)] * 2), np.zeros((2, 3), bool)
SQUARES = Spectral(body(lambda w: (w * w,), np.ones((2, 3))), (), lower=True)
CUBES = SingularFunction(body(lambda s: (s * s * s,), np.ones((4, 2))), (), turned=False)
EXAMPLES = LinearSolve("f", implicit.MATVEC, 2, implicit.COLUMNS, (), implicit.BATCH, "")
EVERY = np.ones((2, 3, 3), bool)
ROWS, COLUMNS = np.array([0, 2, 2]), np.array([3, 1, 1])

SAMPLES = [
    Sample(reshape_p, Shape((6, 2)), (_masked(3, 4),)),
    Sample(permute_p, Permutation((2, 0, 1)), (_masked(2, 3, 4),)),
    Sample(reverse_p, Reversal((1,)), (_masked(3, 4),)),
    Sample(broadcast_p, Broadcast((3, 2, 4), (0, 2)), (_masked(3, 4),)),
    Sample(slice_p, EVEN, (_masked(3, 4),)),
    Sample(add_slice_p, EVEN, (_masked(3, 4), _masked(2, 3))),
    Sample(add_slice_p, EVEN, (_masked(3, 4), (2, 3))),
    Sample(add_slice_p, EVEN, ((3, 4), _masked(2, 3))),
    Sample(concatenate_p, Axis(1), (_masked(3, 4), (3, 1), _masked(3, 2))),
    Sample(cumsum_p, Axis(1), (_masked(3, 4),)),
    Sample(recurrence_p, Axis(1), ((3, 4), _masked(3, 4))),
    Sample(recurrence_p, Axis(1), (MASK, _masked(3, 4))),
    Sample(select_p, NONE, (MASK, _masked(3, 4), _masked(3, 4))),
    Sample(select_p, NONE, (MASK, (3, 4), _masked(3, 4))),
    Sample(gather_p, Indexed((0,)), (_masked(3, 4), ROWS)),
    Sample(gather_p, Indexed((0, 1)), (_masked(3, 4), ROWS, COLUMNS)),
    Sample(scatter_add_p, Indexed((0,)), (_masked(3, 4), _masked(3, 4), ROWS)),
    Sample(scatter_add_p, Indexed((0, 1)), (_masked(3, 4), (3,), ROWS, COLUMNS)),
    Sample(scatter_add_p, Indexed((0,)), ((3, 4), _masked(3, 4), ROWS)),
    Sample(scatter_p, Written((0,), False), (_masked(3, 4), _masked(3, 4), ROWS)),
    Sample(scatter_p, Written((0, 1), True), (_masked(3, 4), (3,), ROWS, COLUMNS)),
    Sample(replace_slice_p, EVEN, (_masked(3, 4), _masked(2, 3))),
    Sample(replace_slice_p, EVEN, ((3, 4), _masked(2, 3))),
    Sample(sliding_windows_p, Window(0, 2), (_masked(3, 4),)),
    Sample(overlap_add_p, Window(1, 2), (_masked(3, 4, 2),)),
    Sample(neg_p, NONE, (_masked(3, 4),)),
    Sample(mul_p, NONE, (_masked(3, 4), (3, 4))),
    Sample(mul_p, NONE, ((3, 4), _masked(3, 4))),
    Sample(mul_p, NONE, (_masked(3, 4), _masked(3, 4))),
    Sample(convert_p, Dtype(np.dtype(np.float32)), (_masked(3, 4),)),
    Sample(convert_p, Dtype(REAL), (_masked(3, 4, dtype=COMPLEX),)),
    Sample(conj_p, NONE, (_masked(3, 4, dtype=COMPLEX),)),
    Sample(real_p, NONE, (_masked(3, 4, dtype=COMPLEX),)),
    Sample(imag_p, NONE, (_masked(3, 4, dtype=COMPLEX),)),
    Sample(add_p, NONE, (_masked(3, 4), _masked(3, 4))),
    Sample(add_p, NONE, (_masked(3, 4), (3, 4))),
    Sample(reduce_sum_p, Axes((0, 2)), (_masked(2, 3, 2),)),
    Sample(contract_p, Contraction((0, 1), (1, 2), (2, 0)), (_masked(3, 4), (4, 2))),
    Sample(contract_p, Contraction((0, 1), (2, 1, 0), (2, 0)), ((3, 4), _masked(2, 4, 3))),
    Sample(contract_p, Contraction((0, 1), (0, 1), ()), (_masked(3, 4), (3, 4))),
    Sample(contract_p, Contraction((), (0, 1), (1, 0)), ((), _masked(3, 4))),
    Sample(contract_p, Contraction((0, 1), (1, 2), (2, 0)), (_masked(3, 4), _masked(4, 2))),
    Sample(
        masked_contract_p, MaskedContraction((0, 1), (1, 2), (2, 0), 0),
        (MASKED, _masked(4, 2), MASK), exact=False,
    ),
    Sample(masked_contract_p, MaskedContraction((0, 1), (1, 2), (2, 0), 0), (MASKED, (4, 2), MASK)),
    Sample(
        masked_convolve_p, MaskedConvolution((0,), (0,), (0,), ((1, 1, 1),), (0,), (6,), 1),
        (_masked(3, 3), MASKED, MASK), exact=False,
    ),
    Sample(
        masked_convolve_p, MaskedConvolution((0,), (0,), (0,), ((1, 1, 1),), (0,), (6,), 1),
        ((3, 3), MASKED, MASK),
    ),
    Sample(masked_sum_p, Axes((1,)), (_masked(3, 4), np.ones((3, 4), bool))),
    Sample(masked_sum_p, Axes((1,)), (_masked(3, 4), MASK), exact=False),
    Sample(div.primitive, NONE, (_masked(3, 4), (3, 4))),
    Sample(sub.primitive, NONE, (_masked(3, 4), _masked(3, 4))),
    Sample(sub.primitive, NONE, (_masked(3, 4), (3, 4))),
    Sample(adjugate_p, NONE, ((4, 3, 3), _masked(4, 3, 3), (4, 3, 3))),
    Sample(convolve_p, sequences(_masked(2, 5), _masked(2, 3), full=True), (_masked(2, 5), (2, 3))),
    Sample(convolve_p, sequences(_masked(5), _masked(2), full=False), ((5,), _masked(2))),
    Sample(convolve_p, sequences(_masked(5), _masked(2), full=False), (_masked(5), _masked(2))),
    Sample(convolve_p, NETWORK, (_masked(2, 3, 6, 5), (4, 3, 2, 3))),
    Sample(convolve_p, NETWORK, ((2, 3, 6, 5), _masked(4, 3, 2, 3))),
    Sample(convolve_p, APART, ((3, 4), (2, 2))),
    Sample(solve_p, NONE, (REGULAR, _masked(2, 3, 4))),
    Sample(triangular_solve_p, Triangle(lower=True), (REGULAR, _masked(2, 3, 4)), exact=False),
    Sample(named_solve_p, Named("a test"), (REGULAR, _masked(2, 3, 4))),
    Sample(part_p, Part(below=True, diagonal=0.5, above=True), (_masked(2, 3, 4),)),
    Sample(part_p, Part(below=True, diagonal=0.0, above=False), (_masked(2, 3, 4),), exact=False),
    Sample(mean_over_ties_p, Averaging(), (_masked(2, 3), np.ones((2, 3, 3), bool))),
    Sample(mean_over_ties_p, Averaging(), (_masked(2, 3), APIECE), exact=False),
    Sample(spectral_p, SQUARES, (_masked(2, 3, 3), (2, 3, 3))),
    Sample(
        eigen_differential_p, Settling(unitary=True), (_masked(2, 3), _masked(2, 3, 3), EVERY)
    ),
    Sample(
        eigen_differential_p, Settling(unitary=True), (_masked(2, 3), (2, 3, 3), APIECE),
        exact=False,
    ),
    Sample(singular_derivative_p, CUBES, (_masked(4, 2, 3), _masked(4, 3, 2), (4, 2, 3))),
    Sample(linear_solve_p, EXAMPLES, (np.ones((3, 2)), np.ones(()), _masked(3, 2), _masked(3))),
    Sample(linear_solve_p, EXAMPLES, (np.ones((3, 2)), np.ones(()), _masked(3, 2), (3,))),
    Sample(tap_p, Tap("name", 0), (_masked(3, 4),)),
    Sample(complement_gauge_p, Complement(start=1, checked=False), (_masked(2, 3, 3),)),
    Sample(gauge_p, Gauge(checked=False), (_masked(2, 3, 3), APIECE)),
    Sample(digits_p, Digits(checked=False), (_masked(2, 3, 3), APIECE)),
    Sample(whole_ties_p, Choice(), (_masked(2, 3, 3), np.zeros((2, 3, 3), bool))),
    Sample(normal_component_p, Gauge(checked=False), (_masked(2, 3, 3), NOWHERE)),
    Sample(require_zero_p, Missing("eigenvectors"), (_masked(2, 3), NOWHERE)),
    Sample(simple_spectrum.primitive, NONE, (_masked(2, 3), APIECE)),
    Sample(diverge_p, NONE, (_masked(3, 4), MASK)),
    Sample(require_zero_p, Missing("reflectors"), (_masked(2, 3, 3), np.zeros((2, 3, 3), bool))),
    Sample(vanish_on_kernel.primitive, NONE, (_masked(2, 3, 3), np.ones((2, 3)), NOWHERE)),
    Sample(constant_rank.primitive, NONE, (_masked(2, 3, 3), np.ones((2, 3)), np.zeros(2))),
    Sample(join_p, NONE, (_masked(3, 4), _masked(3, 4))),
    Sample(join_p, NONE, (_masked(3, 4), (3, 4))),
    Sample(fft_p, Fourier(3, 0, "ortho"), (_masked(3, 4, dtype=COMPLEX),)),
    Sample(ifft_p, Fourier(5, 1, "forward"), (_masked(4, 5, 2),)),
    Sample(rfft_p, Fourier(5, 1, "backward"), (_masked(4, 3),)),
    Sample(irfft_p, Fourier(5, 0, "backward"), (_masked(3, 4),)),
]  # fmt: skip


def _numbers(type_: ArrayType, random: np.random.Generator) -> Any:
    if type_.dtype == BOOL:
        return np.asarray(random.random(type_.shape) < 0.3)
    x = random.normal(size=type_.shape)
    return np.asarray(x + 1j * random.normal(size=type_.shape) if type_.dtype == COMPLEX else x)


def _supported(sample: Sample) -> tuple[Program, list[Any]]:
    """Return a program of the results and their supports, and what is given of its inputs."""
    supports = Supports()
    given: list[np.ndarray[Any, Any] | None] = []
    with Builder("a test", SHARED) as builder:
        xs = []
        for operand in sample.operands:
            if isinstance(operand, np.ndarray):
                xs.append(builder.input(ArrayType(operand.shape, operand.dtype)))
                given.append(operand)
                continue
            type_ = operand if isinstance(operand, ArrayType) else ArrayType(operand, REAL)
            xs.append(builder.input(type_))
            given.append(None)
            if isinstance(operand, ArrayType):
                mask = builder.input(type_.with_dtype(BOOL))
                given.append(None)
                (xs[-1],) = _noted(supports, select_p, NONE, mask, xs[-1], zeros(type_))
        ys = _noted(supports, sample.primitive, sample.params, *xs)
        found = [(y, supports.of(y)) for y in ys]
        where = [
            supports.record(s) if isinstance(s, Support) else constant(s, y.type.with_dtype(BOOL))
            for y, s in found
        ]
        return builder.program([*ys, *where]), given


def _noted(
    supports: Supports, primitive: Primitive[Any], params: Params, *xs: Tracer
) -> Sequence[Tracer]:
    ys = bind(primitive, params, *xs)
    supports.note(ys, primitive, params, xs)
    return ys


@pytest.mark.parametrize("primitive", [add_p, sub.primitive, join_p], ids=str)
def test_a_sum_with_what_is_zero_has_the_support_of_the_other(primitive: Primitive[Any]) -> None:
    supports = Supports()
    with Builder("a test", SHARED) as builder:
        x, mask = builder.input(_masked(3, 4)), builder.input(ArrayType((3, 4), BOOL))
        (masked,) = _noted(supports, select_p, NONE, mask, x, zeros(x.type))
        for xs in ((masked, zeros(x.type)), (zeros(x.type), masked)):
            (y,) = _noted(supports, primitive, NONE, *xs)
            assert supports.of(y) is supports.of(masked)
            assert isinstance(supports.of(y), Support)


def _is_sum(sample: Sample) -> bool:
    return sample.primitive not in (mul_p, contract_p, convolve_p)


def test_every_operation_with_a_rule_has_a_sample() -> None:
    assert {sample.primitive for sample in SAMPLES} >= set(propagation.RULES)


@pytest.mark.slow
@together
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_support_holds_the_entries_that_are_not_zero_and_no_others(sample: Sample) -> None:
    """A product of two masked arrays, which is not linear, has the support of one factor."""
    random = np.random.default_rng(0)
    program, given = _supported(sample)
    for _ in range(10):
        arrays = [
            _numbers(type_, random) if array is None else array
            for array, type_ in zip(given, program.input_types, strict=True)
        ]
        results = run(program, arrays)
        count = len(results) // 2
        factors = sum(isinstance(x, ArrayType) for x in sample.operands)
        for y, some in zip(results[:count], results[count:], strict=True):
            assert some.shape == y.shape
            assert some.dtype == BOOL
            assert not ((y != 0) & ~some).any()
            if sample.exact and (factors < 2 or _is_sum(sample)):
                np.testing.assert_array_equal(y != 0, some)


# ---- everywhere, and long chains -----------------------------------------------------------------


def _simplified(inputs: str, linear: Sequence[bool], *lines: str) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return str(simplify_linear(parse(f"program({inputs}) {{\n{body}}}"), tuple(linear)))


def test_elements_read_one_by_one_need_no_mask_once_all_are_read() -> None:
    def f(x: Any) -> Any:
        y = np.sqrt(x)
        return y[0] * y[1] + y[2]

    def partial(x: Any) -> Any:
        y = np.sqrt(x)
        return y[0] * y[2]

    x = np.array([1.0, 9.0, 4.0])
    for function, masks in ((f, 0), (partial, 1)):
        program = fd.trace(fd.grad(function))(x)
        assert sum(eq.primitive is select_p for eq in program.equations) == masks


def test_where_nothing_is_added_is_found_although_masks_are_added_elsewhere() -> None:
    text = _simplified(
        "%0: f64[3], %1: f64[2], %2: bool[2], %3: f64[3]",
        (True, True, False, False),
        "%4: f64[2] = select %2, %1, 0.0:f64[2]",
        "%5: f64[3] = add_slice{starts=(0,), stops=(2,), steps=(1,)} %0, %4",
        "%6: f64[3] = mul %5, %3",
        "return %6",
    )
    assert text.count("select") == 1


def _piece(k: int) -> Slice:
    return Slice((k,), (k + 1,), (1,))


def _write(supports: Supports, total: Tracer, u: Tracer, _i: Tracer, k: int) -> Tracer:
    return _noted(supports, add_slice_p, _piece(k), total, u)[0]


def _scatter(supports: Supports, total: Tracer, u: Tracer, i: Tracer, _k: int) -> Tracer:
    return _noted(supports, scatter_add_p, Indexed((0,)), total, u, i)[0]


def _turn_and_add(supports: Supports, total: Tracer, u: Tracer, _i: Tracer, k: int) -> Tracer:
    (padded,) = _noted(supports, add_slice_p, _piece(k), zeros(total.type), u)
    (turned,) = _noted(supports, reverse_p, Reversal((0,)), total)
    return _noted(supports, add_p, NONE, turned, padded)[0]


Step = Callable[[Supports, Tracer, Tracer, Tracer, int], Tracer]
LENGTH = 5000


@pytest.mark.slow
@pytest.mark.parametrize("step", [_write, _scatter, _turn_and_add])
def test_long_chains_are_recorded_without_recursion_one_equation_a_step(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the sum is multiplied, so asked for its support, at every step."""
    steps = _counted(monkeypatch)
    supports = Supports()
    with Builder("a test", SHARED) as builder:
        u = builder.input(ArrayType((1,), REAL))
        i = builder.input(ArrayType((1,), np.dtype(np.int64)))
        total = zeros(ArrayType((LENGTH + 1,), REAL))
        for k in range(LENGTH):
            total = step(supports, total, u, i, k)
            some = supports.of(total)
            assert isinstance(some, Support)
            assert not supports.is_everywhere(some)
            supports.record(some)
    assert len(steps) <= 6 * LENGTH


@pytest.mark.slow
def test_a_long_chain_is_found_to_be_everywhere_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = _counted(monkeypatch)
    supports = Supports()
    with Builder("a test", SHARED) as builder:
        u = builder.input(ArrayType((1,), REAL))
        total = zeros(ArrayType((LENGTH,), REAL))
        for k in range(LENGTH):
            total = _write(supports, total, u, u, k)
        some = supports.of(total)
        assert isinstance(some, Support)
        assert supports.is_everywhere(some)
    assert len(steps) == LENGTH


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[Support]:
    """Return a list that every step that is recorded or evaluated from now on will be in."""
    found: list[Support] = []
    steps = propagation._steps

    def counting(support: Support, known: Container[Support]) -> list[Support]:
        missing = steps(support, known)
        found.extend(missing)
        return missing

    monkeypatch.setattr(propagation, "_steps", counting)
    return found


# ---- coefficients that cannot spoil a zero -------------------------------------------------------

COEFFICIENTS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: 1 / x,
    np.sqrt,
    np.exp,
    np.cos,  # of an infinite number it is NaN
    lambda x: 1 - np.tanh(x) * np.tanh(x),
    lambda x: np.full_like(x, np.inf),
    lambda x: np.full_like(x, np.nan),
]


def _masks(coefficient: Callable[[Any], Any]) -> int:
    """Return how many masks there are in the product of padding, turned around, and a number."""
    with Builder("a test", CLOSED) as builder:
        u, x = builder.input(ArrayType((2,), REAL)), builder.input(ArrayType((3,), REAL))
        padded = reverse(add_slice(zeros(x.type), u, Slice((0,), (2,), (1,))), (0,))
        program = builder.program([np.multiply(padded, coefficient(x))])  # type: ignore[call-overload]
    linear = simplify_linear(program, (True, False))
    return sum(eq.primitive is select_p for eq in linear.equations)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_a_mask_is_recorded_for_a_coefficient_that_may_not_be_finite(
    coefficient: Callable[[Any], Any],
) -> None:
    assert _masks(coefficient) == 1


def test_no_mask_is_recorded_for_a_finite_number() -> None:
    assert _masks(lambda x: np.full_like(x, 3.0)) == 0


# ---- end to end ----------------------------------------------------------------------------------


def _first_and_last(x: Any) -> Any:
    y = np.sqrt(x)
    return y[0] + y[2]


def _first_column_solved(x: Any) -> Any:
    return np.linalg.solve(np.diag([0.5, 0.25]), np.sqrt(x).reshape(2, 2))[:, 0].sum()


def _masked_sums(x: Any) -> Any:
    columns = np.where(X[:, None] > 0, x[:, None], 0)
    return np.sqrt(np.sum(columns, axis=1, where=np.array([[True]] * 3))).sum()


X = np.array([1.0, 0.0, 4.0])
ROOTS: list[tuple[Callable[[Any], Any], np.ndarray[Any, Any], list[int]]] = [
    (lambda x: (-np.sqrt(x))[:1].sum(), X, [-1, 0, 0]),
    (lambda x: (1 - np.sqrt(x))[np.array([0, 2])].sum(), X, [-1, 0, -1]),
    (lambda x: np.cumsum(np.sqrt(x[::-1]))[:1].sum(), X[[1, 0, 2]], [0, 0, 1]),
    (lambda x: np.roll(np.sqrt(x), 1)[np.array([0, 1])].sum(), X, [1, 0, 1]),
    (lambda x: (np.sqrt(x)[:, None] @ np.ones((1, 2)))[0].sum(), X, [2, 0, 0]),
    (lambda x: np.sqrt(np.concatenate([x, np.zeros(1)])).sum(), np.ones(3), [1, 1, 1]),
    (_first_and_last, X, [1, 0, 1]),
    (_first_column_solved, np.array([1.0, 0.0, 4.0, 0.0]), [2, 0, 4, 0]),
    (lambda x: np.cumprod(np.sqrt(x))[:1].sum(), X, [1, 0, 0]),
    (_masked_sums, X, [1, 0, 1]),
    (lambda x: np.sqrt(x).astype(np.float32)[:1].sum(), X, [1, 0, 0]),
]


@pytest.mark.parametrize(("f", "x", "times"), ROOTS)
def test_roots_that_are_not_used_contribute_true_zeros(
    f: Callable[[Any], Any], x: np.ndarray[Any, Any], times: list[int]
) -> None:
    """The functions are sums of roots, each taken so many times."""
    used = np.where(x == 0, 1, x)  # a root at 0 is never used
    count = np.array(times)
    first, second = count * used**-0.5 / 2, np.diag(count * used**-1.5 / -4)
    np.testing.assert_array_equal(fd.grad(f)(x), first)
    np.testing.assert_array_equal(fd.jacfwd(f)(x), first)
    np.testing.assert_array_equal(fd.jacfwd(fd.grad(f))(x), second)
    np.testing.assert_array_equal(fd.jacrev(fd.jacfwd(f))(x), second)


def test_a_product_without_a_rule_is_left_as_it_is() -> None:
    product = Primitive(
        "product_without_a_rule",
        Params,
        abstract=lambda _p, x, _y: (x,),
        impl=lambda _p: lambda x, y: np.cumsum(x) * y,
        facts=Facts("multiplied"),
    )
    try:
        lines = ["%3: f64[3] = select %1, %0, 0.0:f64[3]",
                 "%4: f64[3] = product_without_a_rule %3, %2", "return %4"]  # fmt: skip
        text = _simplified("%0: f64[3], %1: bool[3], %2: f64[3]", (True, False, False), *lines)
        assert all(line in text for line in lines)
    finally:
        del primitives[product.name]


def test_places_that_a_convolution_with_strides_leaves_out_contribute_true_zeros() -> None:
    def f(x: Any) -> Any:
        return fd.nn.conv(np.sqrt(x)[None, None], np.ones((1, 1, 2)), stride=3)[0, 0]

    x = np.array([1.0, 4.0, 0.0, 1.0, 1.0, 0.0, 4.0, 1.0])
    slopes = np.array([0.5, 0.25, 0, 0.5, 0.5, 0, 0.25, 0.5])
    (gradient,) = fd.vjp(f, x)[1](np.array([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(gradient, slopes * [1, 1, 0, 2, 2, 0, 4, 4])
