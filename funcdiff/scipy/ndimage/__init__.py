"""``scipy.ndimage`` for traced arrays: ``from funcdiff.scipy import ndimage``."""

from funcdiff.scipy.covered import namespace
from funcdiff.scipy.ndimage import regions, resampling, window_filters  # noqa: F401

__getattr__, __dir__ = namespace(
    "scipy.ndimage",
    {
        "generic_filter generic_filter1d generic_laplace generic_gradient_magnitude "
        "vectorized_filter labeled_comprehension": (
            "It calls a function from compiled code, or on parts of the image. "
            "Call the function on np.lib.stride_tricks.sliding_window_view, or label by label."
        ),
        "geometric_transform": (
            "It calls a function from compiled code, pixel by pixel. "
            "Compute all coordinates and use map_coordinates."
        ),
        "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss "
        "binary_opening binary_propagation label find_objects value_indices watershed_ift "
        "histogram generate_binary_structure iterate_structure": (
            "Its result is of whole numbers, which have no derivative. "
            "Call it on values, outside the function or on fd.stop_gradient(x)."
        ),
        "distance_transform_bf distance_transform_cdt distance_transform_edt": (
            "It measures distances between pixels, which no values change. "
            "Call it on values, outside the function or on fd.stop_gradient(x)."
        ),
    },
)
