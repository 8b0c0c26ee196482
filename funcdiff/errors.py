"""The exceptions that funcdiff raises, and its warnings.

::

    FuncdiffError
    ├── TracerError
    │   ├── ConcreteValueError (TypeError)      a value was asked for where there is none
    │   ├── LostDerivativeError (TypeError)     a conversion would drop a derivative silently
    │   ├── EscapedTracerError (RuntimeError)   a tracer was used after its trace had ended
    │   └── ChangedArrayError (RuntimeError)    a large array was changed after it had been used
    ├── UnsupportedNumPyError (TypeError)       NumPy has it, funcdiff does not (yet)
    ├── InputError (TypeError)                  an argument cannot be differentiated or batched
    ├── OutputError (TypeError)                 a function returned what the transform cannot use
    ├── CotangentError (ValueError)             a cotangent or tangent does not fit its output
    ├── NotDifferentiableError (TypeError)      a derivative that does not exist was asked for
    ├── ConvergenceError (ArithmeticError)      an iteration found no solution
    ├── PytreeError (ValueError)                containers that cannot be taken apart or matched
    ├── MissingDependencyError (ImportError)    an optional package is needed and not installed
    ├── ProgramError
    │   ├── ParseError (ValueError)             text that is not a program
    │   └── VerificationError (ValueError)      a program that breaks an invariant
    └── InternalError (RuntimeError)            a bug in funcdiff

Every message has three parts: what happened, where, and what to write instead.
"""

import dis
import os
import site
import sys
from functools import lru_cache
from types import FrameType, TracebackType

import numpy

_OURS = os.path.dirname(__file__)
_NUMPYS = os.path.dirname(numpy.__file__)
_PYTHONS = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
_WRITTEN = ("<string>", "<attrs generated ")
_INSTALLED = tuple(site.getsitepackages())
"""Where packages are installed, which may be inside the folder of the standard library."""


class FuncdiffError(Exception):
    """Root of all exceptions that funcdiff raises on its own account."""


class TracerError(FuncdiffError):
    """A tracer was used in a way that tracing cannot follow."""


class ConcreteValueError(TracerError, TypeError):
    """A concrete value was needed of a tracer that has none.

    ``if x > 0`` inside the body of `cond`, `scan` or `vmap` asks for a value that is known
    only later.  Use ``np.where(x > 0, a, b)`` or ``fd.cond(x > 0, f, g, x)`` instead.
    """


class LostDerivativeError(TracerError, TypeError):
    """A conversion to a plain number or array would drop the derivative silently.

    ``float(x)``, ``math.sin(x)`` and ``np.asarray(x)`` leave the program that is
    being recorded.  Keep computing with `x` (``np.sin(x)``), or, where no derivative is wanted,
    write ``float(fd.stop_gradient(x))``.  Where it is caught, the transform fails all the same.
    """


class EscapedTracerError(TracerError, RuntimeError):
    """A tracer was used after the trace it belongs to had ended.

    It was stored somewhere (a global, a list, a closure) while a function was being traced, and
    depends on an argument of that.  Return it from the function instead.
    """


class ChangedArrayError(TracerError, RuntimeError):
    """An array that a trace reads later was changed: an argument, a large one closed over, a copy.

    What is traced runs when the trace has ended and would read the changed values.  Use
    ``buffer.copy()`` in the expression, or compute a new array.  Nor may anybody write to the
    read-only copies that ``np.asarray(y)`` makes of traced arrays: write to `y` itself.
    """


class UnsupportedNumPyError(FuncdiffError, TypeError):
    """A NumPy function, or a keyword of one, that funcdiff does not cover was met."""


class InputError(FuncdiffError, TypeError):
    """An argument cannot be differentiated or batched: an integer array, say."""


class OutputError(FuncdiffError, TypeError):
    """A function returned what the transform cannot use: `grad` needs a real scalar."""


class CotangentError(FuncdiffError, ValueError):
    """A cotangent (or tangent) does not match its output (or input) in tree, shape or dtype."""


class NotDifferentiableError(FuncdiffError, TypeError):
    """A derivative that does not exist, or that funcdiff refuses to guess, was asked for."""


class ConvergenceError(FuncdiffError, ArithmeticError):
    """An iteration found no solution; the message has the last change."""


class PytreeError(FuncdiffError, ValueError):
    """Containers that cannot be taken apart, put together or matched."""


class MissingDependencyError(FuncdiffError, ImportError):
    """An optional package is needed for this and not installed: SciPy for ``scipy.special``."""


class ProgramError(FuncdiffError):
    """Something is wrong with a program or its text."""


class ParseError(ProgramError, ValueError):
    """A text is not a program; the message names the line and what was expected.

    Attributes
    ----------
    line, column
        Where, counted from 1.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line, self.column = line, column


class VerificationError(ProgramError, ValueError):
    """A program breaks an invariant; the message prints it with the line marked."""


class RecompilationWarning(UserWarning):
    """A jitted function was traced again and again: for new kinds of arguments, or new ways."""


class FrozenValueWarning(UserWarning):
    """A jitted function has a value for good that changes where it is not compiled."""


class LostDerivativeWarning(UserWarning):
    """A package finds a solution by comparisons, as by bisection: these have no derivative."""


class SparsityWarning(UserWarning):
    """A sparse Jacobian has hardly any zeros: a dense one, or products with it, cost less."""


class UncertaintyWarning(UserWarning):
    """Linearization says too little: a function bends, or has a kink, within its uncertainty."""


class SamplingWarning(UserWarning):
    """Draws of a density are not to be trusted: some diverge, or the chains have not met."""


class InternalError(FuncdiffError, RuntimeError):
    """A bug in funcdiff; the message says so and asks for a report."""


def user_frame(*, or_scipys: bool = False) -> FrameType | None:
    """Return the innermost frame of none of funcdiff, NumPy, SciPy and the standard library.

    With `or_scipys`, it may be SciPy's.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame, or_scipys=or_scipys):
        frame = frame.f_back
    return frame


def is_ours(file: str) -> bool:
    """Whether a file is one of funcdiff's."""
    return file.startswith(_OURS)


def calling_frame() -> FrameType | None:
    """Return the innermost frame of none of funcdiff's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def is_users(frame: FrameType, *, or_scipys: bool = False) -> bool:
    """Whether a frame runs code of none of funcdiff, NumPy, SciPy and the standard library.

    Methods that `dataclasses` or attrs have written, ``__init__``, say, are nobody's code.
    """
    code = frame.f_code
    is_written = code.co_filename.startswith(_WRITTEN) and code.co_name.startswith("__")
    return not is_written and is_users_file(code.co_filename, or_scipys)


@lru_cache(maxsize=4096)
def is_users_file(file: str, or_scipys: bool = False) -> bool:  # noqa: FBT001, FBT002
    """Whether a file is of none of funcdiff, NumPy, SciPy and the standard library, and Python."""
    skipped = [_OURS, _NUMPYS, "<__array_function__", "<funcdiff "]
    scipy = getattr(sys.modules.get("scipy"), "__file__", None)
    if scipy is not None and not or_scipys:
        skipped.append(os.path.dirname(scipy))
    pythons = file.startswith(_PYTHONS) and not file.startswith(_INSTALLED)
    compiled = file.endswith((".pyx", ".pxd", "<stringsource>"))  # by Cython
    return not (pythons or compiled or file.startswith(tuple(skipped)))


def location_of(error: Exception) -> str:
    """Return the place of the user's code from which an error came, through code of others."""
    found = _in_users_code(error)
    if found is None:
        return "an unknown place"
    code = found.tb_frame.f_code
    return place_text(code.co_filename, found.tb_lineno, code.co_name)


def went_through_users_code(error: Exception) -> bool:
    """Whether code of the user's ran where an error came from, or on the way to its handler."""
    return _in_users_code(error) is not None


def _in_users_code(error: Exception) -> TracebackType | None:
    found, trace = None, error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if is_users(frame) and not installed_package(frame):
            found = trace
        trace = trace.tb_next
    return found


def is_raised_by_user(error: Exception) -> bool:
    """Whether an error that was caught comes from the user's own code, called on the way."""
    trace = _end(error)
    return trace is not None and not trace.tb_frame.f_code.co_filename.startswith((_OURS, _NUMPYS))


def own_cause(error: Exception) -> FuncdiffError | None:
    """Return the error of ours for which an installed package raised others, one after another."""
    trace, cause = _end(error), error.__cause__
    if trace is None or not installed_package(trace.tb_frame):
        return None
    while cause is not None and not isinstance(cause, FuncdiffError):
        cause = cause.__cause__
    return cause


def hides(error: Exception, kind: type[Exception]) -> bool:
    """Whether an error stands in the place of one of ours of a kind that was raised before.

    It was raised in code of NumPy's, SciPy's or Python's own; or, where a value was missing, while
    ours was handled, or by code in C, as ``"%d" % k`` does: the frame there is at no ``raise``.
    """
    trace = _end(error)
    if isinstance(error, FuncdiffError) or trace is None:
        return False
    if not is_users(trace.tb_frame):
        return True
    before: BaseException | None = error
    while before is not None and not isinstance(before, kind):
        before = before.__context__
    step = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
    follows = before is not None or step not in ("RAISE_VARARGS", "RERAISE")
    return follows and issubclass(kind, ConcreteValueError)


def _end(error: Exception) -> TracebackType | None:
    """Return where an error was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


ADAPTED = "__funcdiff_converted__"
"""A name that is built in where adapted code runs."""


def is_installed(file: str) -> bool:
    """Whether a file is one of a package that is installed, other than this one."""
    return file.startswith(_INSTALLED) and not is_ours(file)


def installed_package(frame: FrameType) -> str:
    """Return the name of the installed package that a frame runs the code of, or an empty text.

    An adapted package is not one: its code takes traced arrays, as the user's does.
    """
    if ADAPTED in frame.f_builtins or not is_installed(frame.f_code.co_filename):
        return ""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def user_location(frame: FrameType | None = None) -> str:
    """Return ``'file.py', line 12, in f`` of a frame, or ``an unknown place`` if there is none.

    The default is `user_frame`.
    """
    frame = frame or user_frame()
    if frame is None:
        return "an unknown place"
    code = frame.f_code
    return place_text(code.co_filename, frame.f_lineno, code.co_name)


def not_installed(error: ImportError, what: str, package: str, *more: str) -> FuncdiffError:
    """Return the error for a package that an import did not find."""
    problem = f"{what}, which is not installed ({error}), at {user_location()}"
    cure = f'Install it: python -m pip install "{package}"'
    return MissingDependencyError(". ".join([problem, cure, *more]))


def place_text(file: str, line: int, function: str) -> str:
    """Return ``'file.py', line 12, in f``, or ``In [7], line 12, in f`` of a notebook."""
    return f"{notebook_cell(file) or repr(file)}, line {line}, in {function}"


def notebook_cell(file: str) -> str:
    """Return the cell ``In [7]`` of which IPython made a temporary file, or an empty text."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    return named[1].replace("[", " [") if named else ""
