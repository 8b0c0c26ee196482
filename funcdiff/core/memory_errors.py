"""Explains errors of NumPy and Python about memory, which a traced array does not have."""

from __future__ import annotations

from typing import Final

_READ_ONLY: Final = ("read-only", "readonly", "writable", "writeable")
_OF_EXPORTS: Final = (
    "funcdiff: np.asarray(y) of a traced array is a copy of its value, which is read-only, because "
    "what is written to it would be lost. Write to the traced array itself, y[i] = v or "
    "np.copyto(y, v), or take a copy that is yours: np.array(y)."
)
_NO_MEMORY: Final = ("bytes-like object",)
_OF_MEMORY: Final = (
    "funcdiff: a traced array stands for a value without memory, so that nothing else can read or "
    "write its bytes. Give np.array(y), a copy of the value of an array that has no derivative, "
    "and write a result into the traced array: y[...] = np.frombuffer(bytes)."
)
_OUTPUTS: Final = (
    "supplied output array",
    "out must be a numpy array",
    "output must be an array",
    "'out' must be an array",
    "return arrays must be of arraytype",
)
_OF_OUTPUTS: Final = (
    "funcdiff: if the array given as out= is a traced one, this function cannot write to it. Use "
    "its result, y[...] = f(...), or the function of NumPy's instead of the method, np.take(a, i, "
    "out=y)."
)


def explain(error: object, *, exports: bool) -> None:
    """Add a note to an error that leaves a trace, if it is about the memory of an array.

    Parameters
    ----------
    error
        The exception, or None.
    exports
        Whether plain arrays were made of traced ones in this trace.
    """
    if not isinstance(error, TypeError | ValueError | BufferError):
        return
    text = str(error).lower()
    note = None
    if any(part in text for part in _OUTPUTS):
        note = _OF_OUTPUTS
    elif any(part in text for part in _NO_MEMORY) and "array" in text:
        note = _OF_MEMORY
    elif exports and any(part in text for part in _READ_ONLY):
        note = _OF_EXPORTS
    if note is not None and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
