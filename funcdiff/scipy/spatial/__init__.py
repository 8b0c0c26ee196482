"""``scipy.spatial`` for traced arrays: ``from funcdiff.scipy import spatial``."""

import funcdiff.scipy.spatial.shapes
import funcdiff.scipy.spatial.trees  # noqa: F401
from funcdiff.scipy.covered import namespace

_GRAPHS = (
    "Which points it joins depends on their values. Take its numbers of plain points, and write "
    "lengths, areas and circumcentres with NumPy."
)

__getattr__, __dir__ = namespace(
    "scipy.spatial",
    {
        "Delaunay HalfspaceIntersection SphericalVoronoi Voronoi tsearch Rectangle": _GRAPHS,
        "convex_hull_plot_2d delaunay_plot_2d voronoi_plot_2d": (
            "It draws. Draw what the function returns."
        ),
    },
)
