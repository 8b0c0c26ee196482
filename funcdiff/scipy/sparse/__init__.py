"""``scipy.sparse`` for traced arrays: ``from funcdiff.scipy import sparse``."""

from funcdiff.scipy.covered import namespace
from funcdiff.scipy.sparse import constructors

__all__ = ["constructors"]

__getattr__, __dir__ = namespace(
    "scipy.sparse",
    {
        "eye eye_array identity rand random random_array": (
            "It makes a constant array. Call it with plain numbers."
        ),
        "load_npz save_npz": (
            "It reads and writes files. Save fd.stop_gradient of the entries outside the function."
        ),
        "get_index_dtype safely_cast_index_arrays": (
            "It is for index arrays, which are constant. Call it on plain arrays."
        ),
    },
)
