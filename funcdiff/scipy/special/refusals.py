"""Functions in ``scipy.special`` that refuse traced arrays, with reasons and replacements."""

from __future__ import annotations

from typing import Final

_WHOLE = (
    "Its arguments are whole numbers. Pass them from outside, as integers: its result is a "
    "constant."
)
_TABLES = (
    "It returns tables of functions of whole orders, with their slopes. Write the functions "
    "themselves, which are differentiable."
)
_HARMONICS = (
    "Its degrees and orders are whole numbers. Write sph_harm_y(n, m, theta, phi), which takes "
    "traced angles, with phi = 0 for the polynomial."
)
_WAVES = (
    "No rule is known for these functions of several separated variables. Declare it with "
    "fd.primitive, and a rule made of its own slopes."
)
_SEQUENCES = (
    "Its orders are whole numbers. Write pro_cv(m, np.arange(m, n + 1), c) or obl_cv, which are "
    "differentiable in c."
)
_POLYNOMIALS = (
    "Its degree is a whole number; it returns a polynomial. Pass the degree from outside; the "
    "functions eval_legendre, eval_jacobi and so on take traced arrays."
)
_FAMILIES = "legendre chebyt chebyu chebyc chebys jacobi laguerre genlaguerre hermite hermitenorm "
_SHORT = "c cg h he j js l la p ps s t ts u us"

REFUSED: Final = {
    "bernoulli euler stirling2 ai_zeros bi_zeros ber_zeros bei_zeros ker_zeros kei_zeros "
    "berp_zeros beip_zeros kerp_zeros keip_zeros kelvin_zeros erf_zeros fresnel_zeros "
    "fresnelc_zeros fresnels_zeros jn_zeros jnp_zeros jnjnp_zeros jnyn_zeros y0_zeros y1_zeros "
    "y1p_zeros yn_zeros ynp_zeros factorial2 factorialk mathieu_even_coef "
    "mathieu_odd_coef": _WHOLE,
    "lmbda lqn lqmn lpn lpmn clpmn pbdn_seq pbdv_seq pbvv_seq riccati_jn riccati_yn kelvin "
    "legendre_p legendre_p_all "
    "assoc_legendre_p assoc_legendre_p_all": _TABLES,
    "sph_legendre_p sph_legendre_p_all sph_harm": _HARMONICS,
    "ellip_harm ellip_harm_2 ellip_normal": _WAVES,
    "obl_cv_seq pro_cv_seq": _SEQUENCES,
    f"{_FAMILIES} gegenbauer sh_chebyt sh_chebyu sh_jacobi sh_legendre "
    "roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_gegenbauer roots_genlaguerre "
    "roots_hermite roots_hermitenorm roots_jacobi roots_laguerre roots_legendre roots_sh_chebyt "
    "roots_sh_chebyu roots_sh_jacobi roots_sh_legendre "
    + " ".join(f"{name}_roots" for name in _SHORT.split()): _POLYNOMIALS,
    "errstate geterr seterr": (
        "It sets how errors are shown, and takes no arrays. Call it outside, with texts."
    ),
}
