"""``scipy.spatial.distance``: ``from funcdiff.scipy.spatial import distance``."""

import funcdiff.scipy.spatial.distance.pairwise  # noqa: F401
from funcdiff.scipy.covered import namespace

__getattr__, __dir__ = namespace(
    "scipy.spatial.distance",
    {
        "dice hamming jaccard rogerstanimoto russellrao sokalmichener sokalsneath yule": (
            "It counts truth values, which have no derivative. Write a smooth measure of what "
            "they decide by, or take the metric of plain arrays."
        ),
        "is_valid_dm is_valid_y num_obs_dm num_obs_y kulczynski1": (
            "It looks at values or shapes alone. Call it on plain arrays."
        ),
    },
)
