"""``scipy.cluster.hierarchy``, which takes plain arrays: its results are whole numbers."""

from funcdiff.scipy.covered import namespace

__getattr__, __dir__ = namespace(
    "scipy.cluster.hierarchy",
    {
        "average centroid complete linkage median optimal_leaf_ordering single ward weighted "
        "cophenet fclusterdata": (
            "Which clusters it joins, and in which order, depends on the values. Make the tree of "
            "plain arrays, and write the heights with scipy.spatial.distance."
        ),
        "ClusterNode DisjointSet correspond cut_tree dendrogram fcluster from_mlab_linkage "
        "inconsistent is_isomorphic is_monotonic is_valid_im is_valid_linkage leaders "
        "leaves_list maxRstat maxdists maxinconsts num_obs_linkage set_link_color_palette "
        "to_mlab_linkage to_tree": (
            "It reads a tree of clusters, whose numbers are whole. Pass the tree from outside, as "
            "a plain array."
        ),
    },
)
