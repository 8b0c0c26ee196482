"""Writes programs for PyTorch: its names of NumPy's functions, and Python's own control flow."""

from __future__ import annotations

import ast
import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any, Final

import numpy as np

from funcdiff.core.program import Equation, Program
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.structure.structural import Axis
from funcdiff.reading.export.products import Filter, products
from funcdiff.reading.export.shared import (
    PARTITIONS,
    SHARED,
    WINDOWS,
    Call,
    Rules,
    call_of_formula,
    formulas,
    missing,
    name_operands,
    names_in,
    rewriter,
    substitution,
    sum_of_some,
)
from funcdiff.reading.export.spectra import SPECTRA
from funcdiff.reading.text.control import STATEMENTS
from funcdiff.reading.text.expressions import (
    UnwritableError,
    allocation,
    build,
    call,
    constant,
    method,
    name,
    text_of,
)
from funcdiff.reading.text.templates import TEMPLATES, Template
from funcdiff.reading.text.writer import IN_PLACE, Body, Dialect, Writing

# ---- Writes operations that PyTorch has for other dtypes than NumPy, or in other ways ------------


def _plain(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    template = SHARED.get(eq.primitive.name) or TEMPLATES.get(eq.primitive.name)
    return None if template is None else template(eq, xs)


def _unless_boolean(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    """Leave booleans as they are, which NumPy rounds to themselves."""
    return xs[0] if eq.operands[0].type.dtype == BOOL else _plain(eq, xs)


def _of_numbers(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    """Compare booleans as numbers."""
    if eq.operands[0].type.dtype == BOOL:
        xs = [method(xs[0], "astype", build("np.uint8"))]
    return _plain(eq, xs)


def _unless_complex(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    if eq.operands[0].type.dtype.kind == "c":
        raise UnwritableError("PyTorch does not order complex numbers")
    return _plain(eq, xs)


def _unless_float(ufunc: str) -> Template:
    """Accumulate integers, of which none is NaN."""

    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
        if eq.operands[0].type.dtype.kind == "f":
            return None
        return call(f"np.{ufunc}.accumulate", *xs, axis=constant(eq.params_as(Axis).axis))

    return write


def _airy(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    if eq.operands[0].type.dtype.kind == "c":
        raise UnwritableError("PyTorch's airy_ai takes real numbers alone")
    return call("torch.special.airy_ai", *xs)


_BY_DTYPE: Final[dict[str, Template]] = {
    word: template
    for template, words in (
        (_unless_boolean, ("absolute", "ceil", "floor", "trunc")),
        (_of_numbers, ("argmax", "argmin")),
        (
            _unless_complex,
            ("argpartition", "argsort", "order_statistics", "origins", "partition", "sort"),
        ),
    )
    for word in words
}
"""Operations that PyTorch has for other dtypes than NumPy."""

OPERATIONS: Final[dict[str, Template]] = {
    **_BY_DTYPE,
    "airy_ai": _airy,
    "join": lambda _eq, xs: call("torch.complex", *xs),
    "modf_fraction": lambda _eq, xs: build(
        "np.copysign(np.where(np.isinf(x), 0, x - np.trunc(x)), x)", x=xs[0]
    ),
    "modf_integer": lambda _eq, xs: call("np.trunc", *xs),
    "running_fmax": _unless_float("maximum"),
    "running_fmin": _unless_float("minimum"),
}
"""Expressions of operations that PyTorch has in other ways than NumPy."""


def _recurrence(b: Body, eq: Equation) -> None:
    """y[k] = a[k]·y[k-1] + b[k], step by step."""
    axis, (a, terms) = eq.params_as(Axis).axis, map(b.simple, eq.operands)
    if not eq.results[0].type.shape[axis]:
        b.assign(eq, terms)
        return
    rows, k = b.writer.new("rows"), b.writer.new("k")
    before, is_choice = ":, " * axis, eq.operands[0].type.dtype == BOOL
    b.writer.line(f"{rows} = [{text_of(terms)}[{before}0]]")
    with b.writer.block(f"for {k} in range(1, {eq.results[0].type.shape[axis]}):"):
        factor, term = (f"{text_of(x)}[{before}{k}]" for x in (a, terms))
        kept = f"np.where({factor}, {rows}[-1], 0)" if is_choice else f"{factor} * {rows}[-1]"
        b.writer.line(f"{rows}.append({kept} + {term})")
    b.assign(eq, call("torch.stack", name(rows), dim=constant(axis)))


RECURRENCES: Final[dict[str, Writing]] = {"recurrence": _recurrence}
"""Statements about linear recurrences."""


# ---- names ---------------------------------------------------------------------------------------

_SAME: Final = names_in(
    "abs all any arange argmax argmin argsort broadcast_to ceil copysign cos cosh cumprod cumsum "
    "deg2rad einsum exp exp2 expm1 eye floor floor_divide float_power fmax fmin fmod frexp gcd "
    "heaviside hypot i0 inf isfinite isinf isnan lcm ldexp log log10 log1p log2 logaddexp "
    "logaddexp2 logical_and logical_not logical_or logical_xor matmul maximum minimum moveaxis "
    "nan nextafter pi rad2deg real reciprocal remainder reshape searchsorted signbit sin sinc sinh "
    "sqrt square stack sum swapaxes tan tanh tril triu trunc where "
    "bitwise_and bitwise_or bitwise_xor zeros_like "
    "linalg.cholesky linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv "
    "linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd "
    "fft.fft fft.ifft fft.irfft fft.rfft fft.hfft fft.ihfft "
    "complex128 complex64 float16 float32 float64 int16 int32 int64 int8 uint8"
)
"""Functions, dtypes and numbers that have NumPy's name."""

_RENAMED: Final = {
    "absolute": "abs", "fabs": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "bool_": "bool", "concatenate": "cat", "conj": "conj_physical", "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "max": "amax",
    "min": "amin", "multiply": "mul", "divide": "div", "add": "add", "subtract": "sub",
    "negative": "neg", "not_equal": "ne", "equal": "eq", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "power": "pow", "rint": "round", "sign": "sgn",
    "take_along_axis": "take_along_dim", "bitwise_not": "bitwise_not", "transpose": "permute",
}  # fmt: skip

_SPECIAL: Final = names_in(
    "digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln i0 i0e i1 i1e "
    "log1p log_ndtr logit ndtr ndtri psi round sinc xlog1py xlogy zeta"
)
"""What ``torch.special`` has."""

_BESSEL: Final = {
    "j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1",
    "k0": "modified_bessel_k0", "k1": "modified_bessel_k1",
    "k0e": "scaled_modified_bessel_k0", "k1e": "scaled_modified_bessel_k1",
}  # fmt: skip
"""What it has under other names."""


def _spell(path: str) -> str:
    root, _, word = path.partition(".")
    if root == "np" and (word in _SAME or word in _RENAMED):
        return f"torch.{_RENAMED.get(word, word)}"
    if path.startswith("scipy.special.") and path.rpartition(".")[2] in _SPECIAL:
        return path.replace("scipy", "torch")
    if path.startswith("scipy.special.") and path.rpartition(".")[2] in _BESSEL:
        return f"torch.special.{_BESSEL[path.rpartition('.')[2]]}"
    raise missing(path, "PyTorch")


# ---- calls ---------------------------------------------------------------------------------------


def _dtype_of_values(values: ast.expr) -> ast.expr:
    """Return the dtype that NumPy gives numbers, or nested lists of them."""
    plain = text_of(values).replace("torch.", "np.")
    return build(f"torch.{np.asarray(eval(plain, {'np': np})).dtype.name}")


def _is_number(x: ast.expr) -> bool:
    nodes = [node for node in ast.walk(x) if isinstance(node, ast.Name | ast.Call | ast.Subscript)]
    texts = [ast.unparse(getattr(node, "func", node)) for node in nodes]
    return set(texts) <= {"complex", "torch"}


def _scalar(dtype: str) -> Call:
    """``np.float32(x)`` is a tensor without axes."""

    def apply(args: Sequence[ast.expr], _words: Any) -> ast.expr:
        function = "torch.tensor" if _is_number(args[0]) else "torch.as_tensor"
        return call(function, args[0], dtype=build(f"torch.{dtype}"))

    return apply


def _array(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
    (values, *dtype) = [*args, *words.values()]
    if not isinstance(values, ast.List):
        return method(values, "clone")
    return call("torch.tensor", values, dtype=dtype[0] if dtype else _dtype_of_values(values))


def _allocation(function: str) -> Call:
    def apply(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
        (shape, *dtype) = [*args, *words.values()]
        return call(function, shape, dtype=dtype[0] if dtype else build("torch.float64"))

    return apply


def _full(args: Sequence[ast.expr], _words: Any) -> ast.expr:
    shape, value = args
    shape = shape if isinstance(shape, ast.Tuple) else ast.Tuple([shape], ast.Load())
    if isinstance(value, ast.Call) and value.keywords:  # of a scalar that was written before
        return call("torch.full", shape, value.args[0], dtype=value.keywords[0].value)
    return call("torch.full", shape, value, dtype=_dtype_of_values(value))


def _broadcast_to(args: Sequence[ast.expr], _words: Any) -> ast.expr:
    x, shape = args
    return _full((shape, x), {}) if _is_number(x) else call("torch.broadcast_to", x, shape)


def _arange(args: Sequence[ast.expr], _words: Any) -> ast.expr:
    dtype = _dtype_of_values(args[0])
    return call("torch.arange", *args, **({} if dtype.attr == "int64" else {"dtype": dtype}))  # type: ignore[attr-defined]


def _cumulative(function: str) -> Call:
    """Write what PyTorch wants an axis for."""

    def apply(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
        named = {"dim": words.get("axis", constant(0))}
        return call(function, *args, **named, **{k: x for k, x in words.items() if k == "dtype"})

    return apply


def _accumulate(function: str) -> Call:
    return lambda args, words: build(
        f"{function}(x, dim=axis).values", x=args[0], axis=words["axis"]
    )


def _product(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
    """Multiply along one axis after the other, the last one first."""
    x, axis = args[0], words.get("axis")
    more = {k: v for k, v in words.items() if k == "dtype"}
    if not isinstance(axis, ast.Tuple):
        return call("torch.prod", x, **({} if axis is None else {"dim": axis}), **more)
    for one in sorted(axis.elts, key=text_of, reverse=True):
        x = call("torch.prod", x, dim=one, **more)
    return x


def _sum(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
    if text_of(words.get("axis", constant(0))) == "()":
        raise UnwritableError("PyTorch takes no axes for all axes")
    renamed = {{"axis": "dim", "keepdims": "keepdim"}.get(k, k): v for k, v in words.items()}
    return sum_of_some("torch", args[0], renamed)


def _sort(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
    more = {"stable": constant(True)} if "kind" in words else {}
    axis = {"dim": words["axis"]} if "axis" in words else {}
    return build("x.values", x=call("torch.sort", *args, **axis, **more))


def _add_at(args: Sequence[ast.expr], _words: Any) -> ast.expr:
    target, where, values = args
    indices = where if isinstance(where, ast.Tuple) else ast.Tuple([where], ast.Load())
    return build("x.index_put_(i, y, accumulate=True)", x=target, i=indices, y=values)


def _svd(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
    if "compute_uv" in words:
        return call("torch.linalg.svdvals", *args[:1])
    return call("torch.linalg.svd", *args, **words)


def _qr(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
    mode = [*args, *words.values()][1:]
    if mode and text_of(mode[0]) == "'r'":
        return build("torch.linalg.qr(x, 'r')[1]", x=args[0])
    if mode and text_of(mode[0]) == "'raw'":
        raise UnwritableError("PyTorch has no reflections, mode='raw'")
    return call("torch.linalg.qr", *args, **words)


def _ignoring_nan(ufunc: str, neutral: str) -> Call:
    """Accumulate what is a number; what comes before any stays NaN."""
    numbers = "np.cumsum((~np.isnan(x)).astype(np.int64), axis=axis)"
    found = f"np.{ufunc}.accumulate(np.where(np.isnan(x), {neutral}, x), axis=axis)"
    return call_of_formula(f"np.where({numbers} == 0, np.nan, {found})", "x", "axis")


def _zeta(args: Sequence[ast.expr], _words: Any) -> ast.expr:
    if len(args) == 1:
        raise missing("scipy.special.zeta of one argument", "PyTorch")
    return call("torch.special.zeta", *args)


# ---- syntax --------------------------------------------------------------------------------------


def _flip(node: ast.Subscript) -> ast.expr:
    """``x[:, ::-1]`` is ``x.flip(1)``: PyTorch has no steps backward."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    backward = [k for k, part in enumerate(parts) if _goes_backward(part)]
    if not backward:
        return node
    if not all(isinstance(part, ast.Slice) for part in parts):
        raise UnwritableError("PyTorch has no index with a step backward")
    forward = [ast.Slice() if k in backward else part for k, part in enumerate(parts)]
    rest = node.value
    if any(text_of(part) != ":" for part in forward):
        rest = ast.Subscript(rest, ast.Tuple(forward, ast.Load()), ast.Load())
    return method(rest, "flip", *map(constant, backward))


def _goes_backward(part: ast.expr) -> bool:
    if not isinstance(part, ast.Slice) or part.step is None or text_of(part.step)[0] != "-":
        return False
    if text_of(part) != "::-1":
        raise UnwritableError("PyTorch has no slices with a step backward")
    return True


_DTYPES: Final = [np.dtype(t).name for t in "?bhilBefdFD"]

_RULES: Final = Rules(
    _spell,
    {"axis": "dim", "keepdims": "keepdim"},
    {
        **{f"np.{'bool_' if word == 'bool' else word}": _scalar(word) for word in _DTYPES},
        "np.add.at": _add_at,
        "np.add.reduce": _sum,
        "np.arange": _arange,
        "np.array": _array,
        "np.asarray": call_of_formula("torch.as_tensor(x, dtype=dtype)", "x", "dtype"),
        "np.ascontiguousarray": call_of_formula("x.contiguous()", "x"),
        "np.broadcast_to": _broadcast_to,
        "np.cumprod": _cumulative("torch.cumprod"),
        "np.cumsum": _cumulative("torch.cumsum"),
        "np.empty": _allocation("torch.empty"),
        "np.eye": lambda args, words: call(
            "torch.eye", *args, dtype=words.get("dtype", build("torch.float64"))
        ),
        "np.flatnonzero": call_of_formula("torch.nonzero(x.reshape(-1))[:, 0]", "x"),
        "np.full": _full,
        "np.linalg.qr": _qr,
        "np.linalg.svd": _svd,
        "np.maximum.accumulate": _accumulate("torch.cummax"),
        "np.minimum.accumulate": _accumulate("torch.cummin"),
        "np.nonzero": call_of_formula("torch.nonzero(x, as_tuple=True)", "x"),
        "np.ones": _allocation("torch.ones"),
        "np.prod": _product,
        "np.sort": _sort,
        "np.sum": _sum,
        "np.zeros": _allocation("torch.zeros"),
    },
    {
        "astype": call_of_formula("x.to(dtype)", "x", "dtype"),
        "conj": call_of_formula("torch.conj_physical(x)", "x"),
        "copy": call_of_formula("x.clone()", "x"),
        "transpose": lambda args, _words: method(args[0], "permute", *args[1:]),
    },
    {ast.Subscript: _flip},
    {
        **formulas(_SPECIAL),
        **PARTITIONS,
        "np.cbrt": formulas(_SPECIAL)["scipy.special.cbrt"],
        "np.fmax.accumulate": _ignoring_nan("maximum", "-np.inf"),
        "np.fmin.accumulate": _ignoring_nan("minimum", "np.inf"),
        "np.spacing": call_of_formula(
            "np.nextafter(x, np.copysign(np.inf + np.zeros_like(x), x)) - x", "x"
        ),
        "scipy.special.zeta": _zeta,
    },
)

# ---- products ------------------------------------------------------------------------------------


def _convolve(b: Body, f: Filter, dtype: np.dtype[Any]) -> ast.expr:
    """Write a convolution along up to three axes; PyTorch puts no zeros between entries."""
    if len(f.strides) > 3 or dtype.kind not in "fc":
        raise UnwritableError("PyTorch convolves floats and complex numbers along up to three axes")
    x = f.x
    if set(f.spread) != {1}:
        word = b.writer.new("spread")
        b.writer.assign(word, allocation("np.zeros", ArrayType(f.shape, dtype)))
        where = ", ".join([":", ":", *(f"::{step}" for step in f.spread)])
        b.writer.line(f"{word}[{where}] = {text_of(x)}")
        x = name(word)
    widths = [n for pair in reversed(f.padding) for n in pair]
    for own in ([max(n, 0) for n in widths], [min(n, 0) for n in widths]):
        if any(own):
            x = call("torch.nn.functional.pad", x, constant(tuple(own)))
    words = {"stride": f.strides, "dilation": f.dilations}
    more = {word: constant(steps) for word, steps in words.items() if set(steps) != {1}}
    if f.groups > 1:
        more["groups"] = constant(f.groups)
    return call(f"torch.nn.functional.conv{len(f.strides)}d", x, f.kernels, **more)


_CHOICE: Final = "product if np.isfinite(product).all() else careful()"

# ---- the module ----------------------------------------------------------------------------------

_MADE: Final = re.compile(r"\btorch\.(arange|as_tensor|empty|eye|full|ones|tensor|zeros)\(")
"""Functions that make arrays on the device that is chosen."""


def _enclose(_program: Program, arrays: Sequence[ast.expr], head: str, rest: str) -> str:
    """Make arrays on the device of the first array that is given."""
    if arrays and _MADE.search(rest):
        rest = f"    with {text_of(arrays[0])}.device:\n{indent(rest, '    ')}"
    return f"{head}\n{rest}" if head else rest


DIALECT: Final = Dialect(
    "PyTorch",
    "Written by funcdiff: it runs with PyTorch alone.",
    ChainMap(
        RECURRENCES,
        products(_convolve, _CHOICE),
        WINDOWS,
        name_operands(_SPECIAL),
        SPECTRA,
        STATEMENTS,
    ),
    ChainMap(
        substitution("torch.linalg.solve_triangular(a, b, upper=not lower)"),
        OPERATIONS,
        SHARED,
        TEMPLATES,
    ),
    IN_PLACE,
    {"torch.": "import torch"},
    rewriter(_RULES),
    takes_numbers=False,
    takes_functions=False,
    enclose=_enclose,
)
