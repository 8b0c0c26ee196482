"""Writes programs for JAX: names of ``jax.numpy``, updates that make new arrays, ``jax.lax``."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from funcdiff.backend.code.formulas import axes_first, permute
from funcdiff.core.atoms import Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import BOOL
from funcdiff.ops.axes.indexing import Indexed
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.sweeps import Scan, While
from funcdiff.ops.structure.structural import Axis
from funcdiff.reading.export.products import Filter, products
from funcdiff.reading.export.shared import (
    PARTITIONS,
    SHARED,
    WINDOWS,
    Call,
    Rules,
    call_of_formula,
    dotted_name,
    formulas,
    has_double_precision,
    missing,
    name_operands,
    names_in,
    refuse,
    rewriter,
    substitution,
)
from funcdiff.reading.export.spectra import SPECTRA
from funcdiff.reading.provenance import label_of
from funcdiff.reading.text.control import STATEMENTS, branch_tests
from funcdiff.reading.text.expressions import (
    UnwritableError,
    build,
    call,
    constant,
    items,
    name,
    text_of,
)
from funcdiff.reading.text.templates import TEMPLATES
from funcdiff.reading.text.writer import IN_PLACE, Body, Dialect, Statement, Writing
from funcdiff.space import kept_axes

# ---- names ---------------------------------------------------------------------------------------

_SPECIAL: Final = names_in(
    "bernoulli beta betainc betaln boxcox boxcox1p dawsn digamma entr erf erfc erfcx erfinv exp1 "
    "expi expit expn fresnel gamma gammainc gammaincc gammaln gammasgn hyp1f1 i0 i0e i1 i1e "
    "kl_div log_ndtr logit ndtr ndtri owens_t poch rel_entr sici spence xlog1py xlogy "
    "zeta"
)
"""What ``jax.scipy.special`` has."""


_HAS: Final = _SPECIAL | {"cbrt"}

_RENAMED: Final = {
    "scipy.special.cbrt": "jnp.cbrt",
    "scipy.special.exp2": "jnp.exp2",
    "scipy.special.expm1": "jnp.expm1",
    "scipy.special.log1p": "jnp.log1p",
    "scipy.special.psi": "jax.scipy.special.digamma",
    "scipy.special.round": "jnp.rint",
    "scipy.special.sinc": "jnp.sinc",
    "np.add.reduce": "jnp.sum",
    "np.maximum.accumulate": "jax.lax.cummax",
    "np.minimum.accumulate": "jax.lax.cummin",
}
_LACKING: Final = frozenset({"np.longdouble", "np.clongdouble"})
"""What ``jax.numpy`` has not, or does in another way."""


def _spell(path: str) -> str:
    root, _, word = path.partition(".")
    if path in _RENAMED:
        return _RENAMED[path]
    if path in _LACKING:
        raise missing(path, "JAX")
    if root == "np" and (word.count(".") == 0 or word.startswith(("linalg.", "fft."))):
        return f"jnp.{word}"
    if path.startswith("scipy.special.") and path.rpartition(".")[2] in _SPECIAL:
        return f"jax.{path}"
    raise missing(path, "JAX")


def _copy(args: Sequence[ast.expr], words: Any) -> ast.expr:
    """Write an array of values; one that is there already need not be copied."""
    if len(args) == 1 and isinstance(args[0], ast.Name):
        return args[0]
    return call("jnp.array", *args, **words)


def _of_triangle(word: str) -> Call:
    """Read one triangle, as NumPy does; of an upper factor JAX reads the lower one."""

    def write(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
        a, *others = args
        upper = words.get("upper")
        if isinstance(upper, ast.Constant) and upper.value:
            a = build("jnp.conj(jnp.swapaxes(a, -1, -2))", a=a)
        false = ast.Constant(value=False)
        return call(f"jnp.linalg.{word}", a, *others, **words, symmetrize_input=false)

    return write


def _zeta(args: Sequence[ast.expr], _words: Any) -> ast.expr:
    if len(args) == 1:
        raise missing("scipy.special.zeta of one argument", "JAX")
    return call("jax.scipy.special.zeta", *args)


def _update(node: ast.Assign | ast.AugAssign, target: ast.expr, word: str) -> ast.stmt:
    if not isinstance(target, ast.Subscript):
        return node
    where = ast.Subscript(build("x.at", x=target.value), target.slice, ast.Load())
    value = build(f"x.{word}(y)", x=where, y=node.value)
    return ast.Assign([ast.Name(dotted_name(target.value), ast.Store())], value, lineno=0)


_ALONG: Final = ("x", "axis")

_RULES: Final = Rules(
    _spell,
    calls={
        "np.array": _copy,
        "np.ascontiguousarray": call_of_formula("x", "x"),
        "np.fmax.accumulate": call_of_formula(
            "jax.lax.associative_scan(jnp.fmax, x, axis=axis)", *_ALONG
        ),
        "np.fmin.accumulate": call_of_formula(
            "jax.lax.associative_scan(jnp.fmin, x, axis=axis)", *_ALONG
        ),
        **{f"np.linalg.{word}": _of_triangle(word) for word in ("cholesky", "eigh", "eigvalsh")},
        "np.sort": lambda args, words: call(
            "jnp.sort", *args, **{word: x for word, x in words.items() if word != "kind"}
        ),
        "scipy.special.owens_t": call_of_formula(
            "jax.scipy.special.owens_t(h, a).astype(jnp.result_type(h, a))", "h", "a"
        ),
        "scipy.special.zeta": _zeta,
    },
    nodes={  # x[i] = y is x = x.at[i].set(y), and x[i] += y is x = x.at[i].add(y)
        ast.Assign: lambda node: _update(node, node.targets[0], "set"),
        ast.AugAssign: lambda node: _update(node, node.target, "add"),
    },
    formulas={**formulas(_HAS), **PARTITIONS},
)

# ---- scattered elements --------------------------------------------------------------------------


def _scatter(word: str) -> Statement:
    """Update elements of axes that are brought to the front, and back."""

    def write(eq: Equation, target: ast.expr, xs: Sequence[ast.expr]) -> str:
        axes, ndim = eq.params_as(Indexed).axes, eq.operands[0].type.ndim
        order = axes + kept_axes(ndim, axes)
        updates, *indices = xs
        where = indices[0] if len(indices) == 1 else items(indices)
        # of booleans the sum is the greatest
        method = "max" if word == "add" and eq.operands[0].type.dtype == BOOL else word
        whole = f"({axes_first('x', ndim, axes)}).at[i].{method}(y)"
        value = build(
            permute(whole, [order.index(k) for k in range(ndim)]), x=target, i=where, y=updates
        )
        return f"{text_of(target)} = {text_of(value)}"

    return write


def _add_slice(eq: Equation, target: ast.expr, xs: Sequence[ast.expr]) -> str:
    """Add to a slice; of booleans the sum is written with the operator that JAX has for them."""
    text = IN_PLACE["add_slice"](eq, target, xs)
    if eq.operands[0].type.dtype != BOOL:
        return text
    place, _, value = text.partition(" += ")
    return f"{place} = {place} | {value}"


# ---- control flow --------------------------------------------------------------------------------


def _cond(b: Body, eq: Equation) -> None:
    p = eq.params_as(Cond)
    operands = [b.simple(atom) for atom in eq.operands[1:]]
    used = [k for k, v in enumerate(eq.results) if b.is_used(v)]
    branches = [name(_function(b, "branch", "", branch, operands, used)) for branch in p.branches]
    targets = [b.target(eq.results[k]) for k in used]
    if len(branches) == 2:
        (test,) = branch_tests(b, eq, 2)
        value = call("jax.lax.cond", test, branches[1], branches[0])
    else:
        value = call("jax.lax.switch", b.whole(eq.operands[0]), items(branches))
    b.writer.line(f"{_targets(targets)} = {text_of(value)}")


def _function(
    b: Body,
    wanted: str,
    parameters: str,
    program: Program,
    operands: Sequence[ast.expr],
    used: Sequence[int],
) -> str:
    """Write a function in place that returns a tuple of outputs of a program; return its name."""
    word = b.writer.new(wanted)
    with b.writer.block(f"def {word}({parameters}):"):
        outputs = b.writer.write(program, operands)
        b.writer.line(f"return {_tuple([outputs[k] for k in used])}")
    return word


def _tuple(values: Sequence[ast.expr]) -> str:
    return ast.unparse(items(values))


def _targets(words: Sequence[str]) -> str:
    """Return the targets of an assignment of a tuple."""
    return f"{', '.join(words)}," if len(words) == 1 else ", ".join(words) or "()"


def _words(b: Body, program: Program, variables: Sequence[Var], default: str) -> list[str]:
    return [b.writer.new(label_of(program, v).name or default) for v in variables]


def _scan(b: Body, eq: Equation) -> None:
    p = eq.params_as(Scan)
    constants, carry, arrays = p.split(eq.operands)
    _, inner, rows = p.split(p.body.inputs)
    fixed = [b.simple(atom) for atom in constants]
    starts, stacks = [*map(b.whole, carry)], [*map(b.whole, arrays)]
    step = b.writer.new("step")
    with b.writer.block(f"def {step}(carry, rows):"):
        words = _words(b, p.body, inner, "carry"), _words(b, p.body, rows, "row")
        for own, source in zip(words, ("carry", "rows"), strict=True):
            if own:
                b.writer.line(f"{_targets(own)} = {source}")
        outputs = b.writer.write(p.body, [*fixed, *map(name, words[0]), *map(name, words[1])])
        b.writer.line(f"return {_tuple(outputs[: p.carries])}, {_tuple(outputs[p.carries :])}")
    words_ = {"length": constant(p.length), **({"reverse": constant(True)} if p.reverse else {})}
    value = call("jax.lax.scan", name(step), items(starts), items(stacks), **words_)
    targets = [*map(b.target, eq.results)]
    ends, kept = _pattern(targets[: p.carries]), _pattern(targets[p.carries :])
    b.writer.line(f"{ends}, {kept} = {text_of(value)}")


def _pattern(words: Sequence[str]) -> str:
    return f"({_targets(words)})" if words else "()"


def _while(b: Body, eq: Equation) -> None:
    p = eq.params_as(While)
    if len(p.sweeps) > 1:
        raise UnwritableError(
            "its derivative keeps the values of every step, of which jax.lax.while_loop cannot "
            "know the number; use fori_loop or scan, which have one"
        )
    constants, (first,) = p.split(eq.operands)
    fixed = [b.simple(atom) for atom in constants]
    starts = items([*map(b.whole, first)])
    functions = []
    for wanted, program in (("goes_on", p.test), ("step", p.sweeps[0])):
        word = b.writer.new(wanted)
        functions.append(name(word))
        with b.writer.block(f"def {word}(carry):"):
            words = _words(b, p.sweeps[0], p.sweeps[0].inputs[p.constants :], "carry")
            b.writer.line(f"{_targets(words)} = carry")
            outputs = b.writer.write(program, [*fixed, *map(name, words)])
            b.writer.line(f"return {text_of(outputs[0]) if program is p.test else _tuple(outputs)}")
    value = call("jax.lax.while_loop", *functions, starts)
    b.writer.line(f"{_targets([*map(b.target, eq.results)])} = {text_of(value)}")


# ---- products ------------------------------------------------------------------------------------


def _convolve(_b: Body, f: Filter, _dtype: Any) -> ast.expr:
    plain = {"lhs_dilation": f.spread, "rhs_dilation": f.dilations}
    words = {word: constant(steps) for word, steps in plain.items() if set(steps) != {1}}
    if f.groups > 1:
        words["feature_group_count"] = constant(f.groups)
    strides, padding = constant(f.strides), constant(f.padding)
    return call("jax.lax.conv_general_dilated", f.x, f.kernels, strides, padding, **words)


_CHOICE: Final = "jax.lax.cond(np.isfinite(product).all(), lambda: product, careful)"
_TRIANGULAR: Final = "jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=lower)"


def _recurrence(b: Body, eq: Equation) -> None:
    """y[k] = a[k]·y[k-1] + b[k]: compose the steps, which are affine."""
    a, terms = map(b.simple, eq.operands)
    compose = b.writer.new("compose")
    with b.writer.block(f"def {compose}(first, second):"):
        b.writer.line("(a, x), (b, y) = first, second")
        kept = "np.where(b, x, 0)" if eq.operands[0].type.dtype == BOOL else "b * x"
        b.writer.line(f"return a * b, {kept} + y")
    pair = items([a, terms])
    found = call(
        "jax.lax.associative_scan", name(compose), pair, axis=constant(eq.params_as(Axis).axis)
    )
    b.assign(eq, build("x[1]", x=found))


_STATEMENTS: Final[dict[str, Writing]] = {
    "cond": _cond,
    "scan": _scan,
    "while_loop": _while,
    "recurrence": _recurrence,
}

# ---- the module ----------------------------------------------------------------------------------


def _enclose(program: Program, _arrays: Sequence[ast.expr], head: str, rest: str) -> str:
    """Refuse to round double precision to single, as JAX does if nothing is said."""
    lines = [head, rest] if head else [rest]
    if has_double_precision(program):
        lines.insert(0, _CHECK)
    return "\n".join(lines)


_CHECK: Final = """\
    if not jax.config.jax_enable_x64:
        raise TypeError(
            "this program has numbers of double precision, which JAX rounds to single precision "
            "unless it is told not to: call jax.config.update('jax_enable_x64', True) first"
        )"""

_VALUES: Final = "what it does depends on values, which jax.jit does not know"

DIALECT: Final = Dialect(
    "JAX",
    "Written by funcdiff: it runs with JAX alone, and jax.jit takes it.",
    ChainMap(
        _STATEMENTS,
        products(_convolve, _CHOICE),
        WINDOWS,
        name_operands(_HAS),
        SPECTRA,
        refuse(_VALUES, "guard", "places"),
        STATEMENTS,
    ),
    ChainMap(
        {"join": lambda _eq, xs: call("jax.lax.complex", *xs)},
        substitution(_TRIANGULAR),
        SHARED,
        TEMPLATES,
    ),
    ChainMap(
        {
            "add_slice": _add_slice,
            "scatter_add": _scatter("add"),
            "scatter": _scatter("set"),
        },
        IN_PLACE,
    ),
    {
        "jax.": "import jax",
        "jnp.": "import jax.numpy as jnp",
        "jax.scipy.special.": "import jax.scipy.special",
    },
    rewriter(_RULES),
    takes_functions=False,
    enclose=_enclose,
)
