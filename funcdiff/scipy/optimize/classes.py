"""Classes of ``scipy.optimize`` that may hold traced arrays as they are, or need not."""

from funcdiff.scipy.covered import cover
from funcdiff.scipy.optimize.opaque_solvers import scipys

for name in (
    "BFGS", "Bounds", "BroydenFirst", "HessianUpdateStrategy", "InverseJacobian",
    "KrylovJacobian", "LbfgsInvHessProduct", "LinearConstraint", "NonlinearConstraint",
    "OptimizeResult", "RootResults", "SR1",
):  # fmt: skip
    cover("scipy.optimize", name, scipys(name))
