"""Formulas of SciPy's functions that a library lacks, in functions that it may have.

They hold where SciPy's do, to rounding, for real arguments.  Where a formula divides by what may be
zero, or takes a logarithm of it, another number stands there that is not chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from funcdiff.core.atoms import Var
from funcdiff.core.program import Equation
from funcdiff.reading.export.rewriting import Call, call_of_formula
from funcdiff.reading.text.writer import Body, Writing

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
    "powm1": (
        "x y",
        "np.where(x > 0, np.expm1(y * np.log(np.where(x > 0, x, 1.0))), np.power(x, y) - 1.0)",
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
        "a b",
        "scipy.special.gammaln(a) + scipy.special.gammaln(b) - scipy.special.gammaln(a + b)",
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
