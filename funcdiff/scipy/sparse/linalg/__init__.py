"""``scipy.sparse.linalg`` for traced arrays: ``from funcdiff.scipy.sparse import linalg``."""

from funcdiff.scipy.covered import namespace
from funcdiff.scipy.sparse.linalg import direct, few_eigenvalues, iterative, norms_and_powers

__all__ = ["direct", "few_eigenvalues", "iterative", "norms_and_powers"]

__getattr__, __dir__ = namespace(
    "scipy.sparse.linalg",
    {
        "onenormest": (
            "It is an estimate, which depends on random vectors. Use norm(A, 1) of a sparse array."
        ),
        "funm_multiply_krylov": (
            "It takes a function of matrices that SciPy calls with plain ones. Use expm_multiply."
        ),
        "use_solver": "It chooses a library for all calls. Call it with plain arguments.",
        "SuperLU": "Its objects are made by splu. Use splu(A).solve(b).",
        "LaplacianNd": (
            "It makes a constant operator. Use its tosparse(), whose products take traced arrays."
        ),
    },
)
