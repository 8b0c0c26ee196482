"""``scipy.optimize`` for traced arrays: ``from funcdiff.scipy import optimize``.

Solutions are SciPy's; their derivatives are those of the implicit functions of the equations and
conditions that they fulfil, whatever the solver did.  In a trace the user's functions are traced
without values, so they branch by ``np.where``; their derivatives are given to solvers that take
some.  Solutions are in double precision.  The derivative by the start is zero, which is exact
except for the choice among several solutions.
"""

from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import namespace
from funcdiff.scipy.optimize import (  # noqa: F401
    assignments,
    classes,
    linear,
    minimizing,
    old_names,
    roots,
    searches,
    squares,
)
from funcdiff.scipy.optimize.minimum import SolutionWarning as SolutionWarning

borrow_functions("scipy.optimize", "rosen rosen_der rosen_hess rosen_hess_prod")
borrow_functions("scipy.optimize", "approx_fprime check_grad", closures=True)

_WAYS = "It is a step on the way to a solution, which has no derivative. "

__getattr__, __dir__ = namespace(
    "scipy.optimize",
    {
        "milp": "Whole numbers have no derivative. Fix them by bounds at their best values, and "
        "solve for the others with linprog.",
        "bracket line_search": _WAYS
        + "Call minimize_scalar or minimize, whose solutions have one.",
        "fmin_cobyla fmin_slsqp fmin_tnc": "SciPy keeps it for old code. Write minimize(f, x0, "
        "method=...).",
        "show_options linprog_verbose_callback": "It prints text. Call it outside of what is "
        "traced.",
    },
)
