"""``scipy.cluster.vq`` for traced arrays: ``from funcdiff.scipy.cluster import vq``."""

import funcdiff.scipy.cluster.vq.quantization  # noqa: F401
from funcdiff.scipy.covered import namespace

__getattr__, __dir__ = namespace(
    "scipy.cluster.vq",
    {
        "kmeans kmeans2": (
            "It draws first centres, and moves them until they settle. Make the codes of plain "
            "arrays; centres are then means of members, and vq.vq gives distances."
        )
    },
)
