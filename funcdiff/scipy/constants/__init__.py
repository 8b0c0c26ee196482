"""``scipy.constants`` for traced arrays: ``from funcdiff.scipy import constants``."""

from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import namespace

borrow_functions("scipy.constants", "convert_temperature lambda2nu nu2lambda")

__getattr__, __dir__ = namespace(
    "scipy.constants",
    {
        "find precision unit value": (
            "It looks up a constant by its name, which is a text. Constants are numbers: "
            "constants.c, constants.value(name)."
        )
    },
)
