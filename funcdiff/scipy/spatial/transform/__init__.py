"""``scipy.spatial.transform``: ``from funcdiff.scipy.spatial import transform``.

Rotations that hold traced arrays need SciPy 1.17.
"""

from importlib.util import find_spec

from funcdiff.scipy.covered import namespace

if find_spec("scipy") and find_spec("scipy.spatial.transform._rotation_xp"):
    import funcdiff.scipy.spatial.transform.rotations  # noqa: F401

__getattr__, __dir__ = namespace(
    "scipy.spatial.transform",
    {
        "RotationSpline": (
            "It iterates for the angular rates until they settle. Interpolate by Slerp, which is "
            "differentiable in rotations and times."
        )
    },
)
