"""Carlson's symmetric elliptic integrals, in all arguments, equal ones and complex ones too.

Each is ∫₀^∞ tᵏ Π (t + xⱼ)^(-hⱼ/2) dt, of orders k and h (NIST Digital Library of Mathematical
Functions, section 19.16), and so are its derivatives, which are integrated numerically: the
formulas 19.18.1 to 19.18.4 are 0/0 where arguments coincide.
"""

from __future__ import annotations

from typing import Any, Final

from funcdiff.scipy.primitives.numerics.quadrature import carlson_integral
from funcdiff.scipy.primitives.special.family import Op, special
from funcdiff.scipy.primitives.special.orders import numbered


def _slope(j: int) -> Op:
    """Return ∂/∂xⱼ, -hⱼ/2 times the integral in which hⱼ is larger by 2."""

    def slope(orders: tuple[int, ...], *xs: Any) -> Any:
        raised = (*orders[: j + 1], orders[j + 1] + 2, *orders[j + 2 :])
        return -orders[j + 1] / 2 * of_arguments[len(xs)](raised, *xs)

    return slope


of_arguments: Final[dict[int, Op]] = {
    n: numbered(f"carlson_{many}", carlson_integral, *map(_slope, range(n)), kinds="fc")
    for n, many in ((2, "pair"), (3, "triple"), (4, "quadruple"))
}
"""How many arguments -> the integrals."""


def _declare(name: str, factor: float, k: int, *halves: int) -> Op:
    """Declare the integral of these orders times a factor."""

    def partial(j: int) -> Op:
        return lambda *xs: factor * _slope(j)((k, *halves), *xs[:-1])

    return special(name, *map(partial, range(len(halves))))


elliprf: Op = _declare("elliprf", 1 / 2, 0, 1, 1, 1)
elliprc: Op = _declare("elliprc", 1 / 2, 0, 1, 2)
elliprd: Op = _declare("elliprd", 3 / 2, 0, 1, 1, 3)
elliprj: Op = _declare("elliprj", 3 / 2, 0, 1, 1, 1, 2)
elliprg: Op = _declare("elliprg", -1 / 4, 1, 1, 1, 1)  # the finite part of what diverges
