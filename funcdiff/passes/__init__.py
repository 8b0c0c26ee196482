"""Optimises programs: passes return equal programs that are cheaper or better behaved."""

from typing import TYPE_CHECKING

from funcdiff.core.late import late_names

if TYPE_CHECKING:
    from funcdiff.passes import choices, recorded, simplify

    __all__ = ["choices", "recorded", "simplify"]
else:  # what is asked for as ``passes.simplify.simplify`` is imported when it is called
    __getattr__ = late_names(__name__, {"": "choices recorded simplify"})
