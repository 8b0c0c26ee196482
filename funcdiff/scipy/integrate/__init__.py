"""``scipy.integrate`` for traced arrays: ``from funcdiff.scipy import integrate``."""

from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import cover, namespace
from funcdiff.scipy.integrate.odeint import odeint
from funcdiff.scipy.integrate.quadrature import nquad, quad, quad_vec
from funcdiff.scipy.integrate.solve_bvp import solve_bvp
from funcdiff.scipy.integrate.solve_ivp import solve_ivp
from funcdiff.scipy.places import place, requirements_of

_NODES = "_cached_roots_legendre"  # kept between calls, so that they must not be traced
with requirements_of("scipy.integrate", "fixed_quad"):
    cover("scipy.integrate._quadrature", _NODES, place("scipy.integrate._quadrature", _NODES))

borrow_functions(
    "scipy.integrate", "cumulative_simpson cumulative_trapezoid romb simpson trapezoid"
)
borrow_functions("scipy.integrate", "fixed_quad dblquad tplquad", closures=True)

__all__ = ["nquad", "odeint", "quad", "quad_vec", "solve_bvp", "solve_ivp"]

_NO_PIECES = (
    "Objects that are advanced step by step keep no record that could be differentiated. Use "
    "solve_ivp with that method."
)

__getattr__, __dir__ = namespace(
    "scipy.integrate",
    {
        "RK23 RK45 DOP853 Radau BDF LSODA OdeSolver ode complex_ode": _NO_PIECES,
        "DenseOutput OdeSolution": (
            "It holds plain polynomials. Ask funcdiff.scipy's solve_ivp for dense_output=True: its "
            "sol takes traced times, and is traced itself if the problem is."
        ),
        "newton_cotes lebedev_rule": (
            "It makes weights of integers, which have no derivative. Call it with plain numbers "
            "and sum with its weights."
        ),
        "cubature": (
            "It takes points in groups of any size, so that there is no one program of the "
            "integrand. Use nquad, or quad_vec in several variables."
        ),
        "tanhsinh": (
            "It decides for each element when to stop. Use quad, which also integrates to "
            "singular ends, or quad_vec."
        ),
        "nsum": (
            "It decides by values how many terms it sums. Sum enough terms with np.sum, and add "
            "quad of the rest."
        ),
        "qmc_quad": (
            "It draws points of its own. Draw them with scipy.stats.qmc and take np.mean of the "
            "integrand there."
        ),
    },
)
