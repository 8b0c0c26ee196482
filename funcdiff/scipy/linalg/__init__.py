"""``scipy.linalg`` for traced arrays: ``from funcdiff.scipy import linalg``."""

import funcdiff.scipy.linalg.banded
import funcdiff.scipy.linalg.constructed_matrices
import funcdiff.scipy.linalg.eigenvalues
import funcdiff.scipy.linalg.factors
import funcdiff.scipy.linalg.functions
import funcdiff.scipy.linalg.linear_systems
import funcdiff.scipy.linalg.matrix_equations  # noqa: F401
from funcdiff.scipy.covered import namespace

__getattr__, __dir__ = namespace(
    "scipy.linalg",
    {
        "dft hadamard helmert hilbert invhilbert invpascal pascal": (
            "Its size is a whole number, which has no derivative. Pass an int: its elements are "
            "constants."
        ),
        "find_best_blas_type get_blas_funcs get_lapack_funcs": (
            "It looks for compiled code, which takes plain arrays. Call what is above it, "
            "scipy.linalg.solve or eigh, say."
        ),
        "hessenberg rsf2csf cdf2rdf": (
            "Its factors depend on choices that algorithms make, of signs, phases and orders. Use "
            "what does not: eigvals, eig, sqrtm, logm, or fd.stop_gradient(a)."
        ),
        "qz ordqz cossin": (
            "Its factors depend on choices that algorithms make, of signs, phases and orders. Use "
            "eigvals(a, b), svdvals of a block, or fd.stop_gradient(a)."
        ),
        "qr_delete qr_insert qr_update": (
            "It turns factors that are known into those of another matrix. Call qr on that matrix, "
            "whose derivative costs no less."
        ),
        "clarkson_woodruff_transform": (
            "Its sketch is a random sparse matrix. Make that outside, and multiply by it."
        ),
    },
)
