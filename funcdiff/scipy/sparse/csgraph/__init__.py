"""``scipy.sparse.csgraph``, whose functions are of graphs, and take no traced arrays."""

from funcdiff.scipy.covered import load, namespace, public_names

_WHY = (
    "Which edges a path, a tree or a matching has, changes in jumps. Find them with constant "
    "weights, and compute with the weights of these edges."
)

__getattr__, __dir__ = namespace(
    "scipy.sparse.csgraph", {" ".join(public_names(load("scipy.sparse.csgraph"))): _WHY}
)
