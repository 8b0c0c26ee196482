"""Rewrites NumPy's syntax trees for another library, and formulas that libraries share.

Everything here is written in NumPy's names, which every library spells in its own way.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.walk import nested
from funcdiff.ops.axes.sorting import Search, Sorting
from funcdiff.ops.linalg.matrices import Part
from funcdiff.ops.linalg.systems import Triangle
from funcdiff.ops.structure.slicing import Window
from funcdiff.ops.structure.structural import Axis
from funcdiff.reading.text.expressions import (
    UnwritableError,
    allocation,
    build,
    call,
    constant,
    dtype_of,
    text_of,
)
from funcdiff.reading.text.templates import Template
from funcdiff.reading.text.writer import Body, Writing

# ---- Rewrites NumPy syntax trees for another library: names, keywords, calls, methods ------------


Call: TypeAlias = Callable[[Sequence[ast.expr], Mapping[str, ast.expr]], ast.expr]
"""From the arguments and keywords of a call, in the other library, to what replaces it."""

_ROOTS: Final = ("np", "scipy")
_LIBRARIES: Final = (*_ROOTS, "jax", "jnp", "torch", "cupy")


class Rules(NamedTuple):
    """How a library spells NumPy's functions."""

    # From a dotted name in NumPy or SciPy; raises `UnwritableError` where there is none.
    spell: Callable[[str], str]
    keywords: Mapping[str, str] = {}  # those with another name
    calls: Mapping[str, Call] = {}  # functions with another call, by dotted name
    # Methods with another call, whose first argument is the object.
    methods: Mapping[str, Call] = {}
    # Other syntax, by kind; the parts are rewritten before.
    nodes: Mapping[type[ast.AST], Callable[[Any], ast.AST]] = {}
    formulas: Mapping[str, Call] = {}  # functions that it lacks, in NumPy's and SciPy's names


def rewriter(rules: Rules) -> Callable[[Any], Any]:
    """Return what rewrites a tree; what is written in the library already stays."""
    return _Rewriter(rules).visit


class _Rewriter(ast.NodeTransformer):
    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a tree, its parts first."""
        found = super().visit(node)
        rule = self._rules.nodes.get(type(found))
        return found if rule is None else rule(found)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Rewrite a name of NumPy's that is no call: a dtype, a constant."""
        path = dotted_name(node)
        if path.partition(".")[0] in _ROOTS:
            return build(self._rules.spell(path))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite a call of a function or a method."""
        path = dotted_name(node.func)
        root = path.partition(".")[0]
        args = [self.visit(x) for x in node.args]
        words = {str(word.arg): self.visit(word.value) for word in node.keywords}
        if root not in _LIBRARIES and isinstance(node.func, ast.Attribute):
            target, method = self.visit(node.func.value), node.func.attr
            if method in self._rules.methods:
                return self._rules.methods[method]([target, *args], words)
            return _call(ast.Attribute(target, method, ast.Load()), args, words)
        if path in self._rules.calls:
            return self._rules.calls[path](args, words)
        if path in self._rules.formulas:
            found: ast.AST = self.visit(self._rules.formulas[path](args, words))
            return found
        if root not in _ROOTS:
            return _call(node.func, args, words)
        renamed = {self._rules.keywords.get(word, word): x for word, x in words.items()}
        return _call(build(self._rules.spell(path)), args, renamed)


def _call(function: ast.expr, args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.Call:
    return ast.Call(function, list(args), [ast.keyword(word, x) for word, x in words.items()])


def dotted_name(node: ast.expr) -> str:
    """Return a dotted name; empty if it is something else."""
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.Attribute):
        return ""
    before = dotted_name(node.value)
    return f"{before}.{node.attr}" if before else ""


def names_in(text: str) -> frozenset[str]:
    """Return names that a text lists."""
    return frozenset(text.split())


def missing(path: str, library: str) -> UnwritableError:
    """Return the error that a library has no such function."""
    return UnwritableError(f"{library} has no counterpart of {path.replace('np.', 'numpy.', 1)}")


def call_of_formula(formula: str, *names: str, **defaults: Any) -> Call:
    """Return a call that puts its arguments into a formula.

    `names` are those of the parameters, each ``x`` in the formula; `defaults` are the values of
    those that need not be given.
    """

    def apply(args: Sequence[ast.expr], keywords: Mapping[str, ast.expr]) -> ast.expr:
        parts: dict[str, ast.expr] = {word: ast.Constant(x) for word, x in defaults.items()}
        parts.update(zip(names, args, strict=False), **keywords)
        unknown = parts.keys() - set(names)
        if unknown or len(args) > len(names):
            raise UnwritableError(f"a call with {', '.join(sorted(unknown))} has no counterpart")
        return build(formula, **parts)

    return apply


def sum_of_some(library: str, x: ast.expr, words: Mapping[str, ast.expr]) -> ast.expr:
    """Sum what is chosen, onto a number, in a library that has neither keyword."""
    words = dict(words)
    where, initial = words.pop("where", None), words.pop("initial", None)
    if where is not None:
        x = build(f"{library}.where(where, x, 0)", where=where, x=x)
    total = call(f"{library}.sum", x, **words)
    return total if initial is None else build("x + y", x=initial, y=total)


# ---- order ---------------------------------------------------------------------------------------


def _order(x: ast.expr, axis: int) -> ast.expr:
    return call("np.argsort", x, axis=constant(axis), stable=constant(True))


def _origins(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Match elements of equal rank, which is the order of the order."""
    x, y = xs
    axis = eq.params_as(Axis).axis
    ranks = _order(_order(y, axis), axis)
    return call("np.take_along_axis", _order(x, axis), ranks, axis=constant(axis))


def _order_statistics(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    x, positions = xs
    axis = constant(eq.params_as(Axis).axis)
    return call("np.take_along_axis", call("np.sort", x, axis=axis), positions, axis=axis)


def _searchsorted(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    if eq.operands[0].type.ndim > 1:
        raise UnwritableError("it searches in several arrays at a time")
    return build(
        "np.searchsorted(a, v, side=side).astype(np.int64)",
        a=xs[0],
        v=xs[1],
        side=constant(eq.params_as(Search).side),
    )


# ---- matrices ------------------------------------------------------------------------------------


def _part(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Add up what is kept: the triangle below, a multiple of the diagonal, the triangle above."""
    p = eq.params_as(Part)
    if p.diagonal == 1 and p.below != p.above:
        return build("np.tril(x)" if p.below else "np.triu(x)", x=xs[0])
    parts = ["np.tril(x, -1)"] * p.below + ["np.triu(x, 1)"] * p.above
    if p.diagonal:
        parts.append(f"{p.diagonal} * np.tril(np.triu(x))")
    return build(" + ".join(parts) or "0 * x", x=xs[0])


def substitution(formula: str) -> dict[str, Template]:
    """Return how triangular systems are solved by ``f(a, b)``, which has ``lower`` in it."""

    def solve(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        lower = constant(eq.params_as(Triangle).lower)
        return build(formula, a=xs[0], b=xs[1], lower=lower)

    def invert(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        type_ = eq.operands[0].type
        unit = call("np.eye", constant(type_.shape[-1]), dtype=dtype_of(type_.dtype))
        whole = build(
            "np.ascontiguousarray(np.broadcast_to(x, s))", x=unit, s=constant(type_.shape)
        )
        return build(formula, a=xs[0], b=whole if type_.ndim > 2 else unit, lower=constant(True))

    return {"triangular_solve": solve, "triangular_inv": invert}


# ---- elements ------------------------------------------------------------------------------------


def _reciprocal(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    if eq.operands[0].type.dtype.kind in "iu":
        raise UnwritableError("the reciprocals of integers are integers in NumPy alone")
    return call("np.reciprocal", *xs)


def _function(path: str) -> Template:
    return lambda _eq, xs: call(path, *xs)


SHARED: Final[dict[str, Template]] = {
    "argsort": lambda eq, xs: _order(xs[0], eq.params_as(Sorting).axis),
    "bessel_i1": _function("scipy.special.i1"),
    "eig": _function("np.linalg.eig"),
    "eigvals": _function("np.linalg.eigvals"),
    "excess": lambda _eq, xs: build("np.where(x == y, 0, x - y)", x=xs[0], y=xs[1]),
    "order_statistics": _order_statistics,
    "origins": _origins,
    "part": _part,
    "polygamma": _function("scipy.special.polygamma"),
    "reciprocal": _reciprocal,
    "searchsorted": _searchsorted,
}
"""Expressions of NumPy's that the libraries have, too."""


PARTITIONS: Final[dict[str, Call]] = {
    "np.argpartition": call_of_formula("np.argsort(x, axis=axis, stable=True)", "x", "kth", "axis"),
    "np.partition": call_of_formula("np.sort(x, axis=axis)", "x", "kth", "axis"),
}
"""Arrays in order are partitioned, too."""


# ---- windows -------------------------------------------------------------------------------------


def _sliding_windows(b: Body, eq: Equation) -> None:
    """Take the elements of windows by their positions, which are sums of two ranges."""
    p = eq.params_as(Window)
    (places, length), before = (eq.results[0].type.shape[p.axis], p.length), ":, " * p.axis
    taken = build(
        f"x[{before}np.arange(m)[:, None] + np.arange(n)]",
        x=b.simple(eq.operands[0]), m=constant(places), n=constant(length),
    )  # fmt: skip
    b.assign(eq, call("np.moveaxis", taken, constant(p.axis + 1), constant(-1)))


def _overlap_add(b: Body, eq: Equation) -> None:
    p, (result,) = eq.params_as(Window), eq.results
    windows = text_of(b.simple(eq.operands[0]))
    total, k = b.target(result), b.writer.new("k")
    b.writer.assign(total, allocation("np.zeros", result.type))
    places = eq.operands[0].type.shape[p.axis]
    with b.writer.block(f"for {k} in range({p.length}):"):
        where = ":, " * p.axis + f"{k}:{k} + {places}"
        b.writer.line(f"{total}[{where}] += {windows}[..., {k}]")


WINDOWS: Final[dict[str, Writing]] = {
    "sliding_windows": _sliding_windows,
    "overlap_add": _overlap_add,
}
"""Statements about windows that slide."""


# ---- what there is not ---------------------------------------------------------------------------


def refuse(reason: str, *names: str) -> dict[str, Writing]:
    """Return entries for primitives that cannot be written."""

    def write(_b: Body, _eq: Equation) -> None:
        raise UnwritableError(reason)

    return dict.fromkeys(names, write)


def has_double_precision(program: Program) -> bool:
    """Whether a program, or one within it, computes with float64 or complex128."""
    atoms: list[Atom] = [*program.inputs, *program.outputs]
    for eq in program.equations:
        atoms += [*eq.operands, *eq.results]
        if any(map(has_double_precision, nested(eq.params))):
            return True
    return any(atom.type.dtype.name in ("float64", "complex128") for atom in atoms)


# ---- Formulas of SciPy's functions that a library lacks, in functions that it may have -----------
#
# They hold where SciPy's do, to rounding, for real arguments. Where a formula divides by what may
# be zero, or takes a logarithm of it, another number stands there that is not chosen.


_SIGN: Final = (
    "np.where(x > 0, 1.0, np.where(np.floor(x) == x, np.where(x == 0, 1.0, np.nan), "
    "1.0 - 2.0 * np.remainder(np.floor(x), 2)))"
)
_SAFE: Final = "np.where(lam == 0, 1.0, lam)"

_FORMULAS: Final[dict[str, tuple[str, str]]] = {
    # powers and logarithms
    "boxcox": ("x lam", f"np.where(lam == 0, np.log(x), np.expm1(lam * np.log(x)) / {_SAFE})"),
    "boxcox1p": (
        "x lam", f"np.where(lam == 0, np.log1p(x), np.expm1(lam * np.log1p(x)) / {_SAFE})"
    ),
    "cbrt": ("x", "np.copysign(np.power(np.abs(x), 1 / 3), x)"),
    "exp10": ("x", "np.power(10.0, x)"),
    "exprel": ("x", "np.where(x == 0, 1.0, np.expm1(x) / np.where(x == 0, 1.0, x))"),
    "inv_boxcox": ("x lam", f"np.where(lam == 0, np.exp(x), np.exp(np.log1p(lam * x) / {_SAFE}))"),
    "inv_boxcox1p": (
        "x lam", f"np.where(lam == 0, np.expm1(x), np.expm1(np.log1p(lam * x) / {_SAFE}))"
    ),
    "log_expit": ("x", "-np.logaddexp(np.zeros_like(x), -x)"),
    "pow1p": ("u p", "np.power(1.0 + u, p)"),
    "pow1pm1": ("u p", "np.expm1(p * np.log1p(u))"),
    "powm1": (
        "x y", "np.where(x > 0, np.expm1(y * np.log(np.where(x > 0, x, 1.0))), np.power(x, y) - 1)"
    ),
    # circles
    "cosdg": ("x", "np.cos(np.deg2rad(np.remainder(x, 360.0)))"),
    "cosm1": ("x", "-2.0 * np.square(np.sin(0.5 * x))"),
    "cotdg": ("x", "1.0 / np.tan(np.deg2rad(np.remainder(x, 180.0)))"),
    "radian": ("d m s", "np.deg2rad(d + m / 60.0 + s / 3600.0)"),
    "sindg": ("x", "np.sin(np.deg2rad(np.remainder(x, 360.0)))"),
    "tandg": ("x", "np.tan(np.deg2rad(np.remainder(x, 180.0)))"),
    # losses and entropies
    "huber": (
        "delta r",
        "np.where(delta < 0, np.inf, np.where(np.abs(r) <= delta, 0.5 * np.square(r), "
        "delta * (np.abs(r) - 0.5 * delta)))",
    ),
    "kl_div": ("x y", "scipy.special.rel_entr(x, y) - x + y"),
    "pseudo_huber": (
        "delta r",
        "np.where(delta < 0, np.inf, np.where((delta == 0) | (r == 0), 0.0, np.square(delta) * "
        "(np.sqrt(1.0 + np.square(r / np.where(delta == 0, 1.0, delta))) - 1.0)))",
    ),
    "rel_entr": (
        "x y",
        "np.where((x > 0) & (y > 0), x * np.log(np.where((x > 0) & (y > 0), x / "
        "np.where(y > 0, y, 1.0), 1.0)), np.where((x == 0) & (y >= 0), 0.0, np.inf))",
    ),
    # the gamma function
    "beta": (
        "a b",
        "scipy.special.gammasgn(a) * scipy.special.gammasgn(b) * scipy.special.gammasgn(a + b) * "
        "np.exp(scipy.special.gammaln(a) + scipy.special.gammaln(b) "
        "- scipy.special.gammaln(a + b))",
    ),
    "betaln": (
        "a b", "scipy.special.gammaln(a) + scipy.special.gammaln(b) - scipy.special.gammaln(a + b)"
    ),
    "binom": (
        "n k",
        "scipy.special.gammasgn(n + 1) * scipy.special.gammasgn(k + 1) * "
        "scipy.special.gammasgn(n - k + 1) * np.exp(scipy.special.gammaln(n + 1) - "
        "scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1))",
    ),
    "gamma": ("x", "scipy.special.gammasgn(x) * np.exp(scipy.special.gammaln(x))"),
    "gammasgn": ("x", _SIGN),
    "loggamma": ("x", "np.where(x >= 0, scipy.special.gammaln(x), np.nan)"),
    "polygamma": (
        "n x",
        "np.where(n == 0, scipy.special.psi(x), (2.0 * np.remainder(n, 2) - 1.0) * "
        "np.exp(scipy.special.gammaln(n + 1)) * scipy.special.zeta(n + 1, x))",
    ),
    "poch": (
        "x m",
        "scipy.special.gammasgn(x + m) * scipy.special.gammasgn(x) * "
        "np.exp(scipy.special.gammaln(x + m) - scipy.special.gammaln(x))",
    ),
    "rgamma": (
        "x",
        "np.where((x <= 0) & (np.floor(x) == x), 0.0, scipy.special.gammasgn(x) * "
        "np.exp(-scipy.special.gammaln(x)))",
    ),
    # distributions
    "bdtr": ("k n p", "scipy.special.betainc(n - np.floor(k), np.floor(k) + 1, 1 - p)"),
    "bdtrc": ("k n p", "scipy.special.betainc(np.floor(k) + 1, n - np.floor(k), p)"),
    "betaincc": ("a b x", "scipy.special.betainc(b, a, 1 - x)"),
    "chdtr": ("v x", "scipy.special.gammainc(0.5 * v, 0.5 * x)"),
    "chdtrc": ("v x", "scipy.special.gammaincc(0.5 * v, 0.5 * x)"),
    "erfcinv": ("x", "-0.7071067811865476 * scipy.special.ndtri(0.5 * x)"),
    "fdtr": ("m n x", "scipy.special.betainc(0.5 * m, 0.5 * n, m * x / (n + m * x))"),
    "fdtrc": ("m n x", "scipy.special.betainc(0.5 * n, 0.5 * m, n / (n + m * x))"),
    "gdtr": ("a b x", "scipy.special.gammainc(b, a * x)"),
    "gdtrc": ("a b x", "scipy.special.gammaincc(b, a * x)"),
    "nbdtr": ("k n p", "scipy.special.betainc(n, np.floor(k) + 1, p)"),
    "nbdtrc": ("k n p", "scipy.special.betainc(np.floor(k) + 1, n, 1 - p)"),
    "pdtr": ("k m", "scipy.special.gammaincc(np.floor(k) + 1, m)"),
    "pdtrc": ("k m", "scipy.special.gammainc(np.floor(k) + 1, m)"),
    "stdtr": (
        "df t",
        "np.where(t > 0, 1.0 - 0.5 * scipy.special.betainc(0.5 * df, 0.5, df / (df + t * t)), "
        "0.5 * scipy.special.betainc(0.5 * df, 0.5, df / (df + t * t)))",
    ),
}  # fmt: skip
"""Names of SciPy's -> parameters, and a formula."""


def formulas(has: frozenset[str]) -> Mapping[str, Call]:
    """Return how SciPy's functions are called that a library, with others of them, lacks."""
    missing = _FORMULAS.keys() - has
    return {
        f"scipy.special.{name}": call_of_formula(_FORMULAS[name][1], *_FORMULAS[name][0].split())
        for name in missing
    }


def name_operands(has: frozenset[str]) -> dict[str, Writing]:
    """Return entries that name the operands of these, which formulas have several times."""

    def write(b: Body, eq: Equation) -> None:
        for atom in eq.operands:
            if isinstance(atom, Var):
                b.simple(atom)
        b.expression(eq)

    return dict.fromkeys(_FORMULAS.keys() - has, write)
