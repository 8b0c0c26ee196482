"""``scipy.spatial.transform``: ``from funcdiff.scipy.spatial import transform``."""

from importlib import import_module

from funcdiff.scipy.covered import namespace
from funcdiff.scipy.places import requirements_of

with requirements_of("scipy.spatial.transform", "Rotation Slerp RigidTransform"):
    import_module("funcdiff.scipy.spatial.transform.rotations")

__getattr__, __dir__ = namespace(
    "scipy.spatial.transform",
    {
        "RotationSpline": (
            "It iterates for the angular rates until they settle. Interpolate by Slerp, which is "
            "differentiable in rotations and times."
        )
    },
)
