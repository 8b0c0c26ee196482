"""Names of test cases that are the same in every process, as running them in several ones needs."""

import re


def without_address(value: object) -> str:
    """Return the `repr` of a value without its place in memory."""
    return re.sub(r"( at )?0x[0-9A-Fa-f]+", "", repr(value))
