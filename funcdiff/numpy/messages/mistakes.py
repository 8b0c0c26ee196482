"""Explains errors of code that meets traced arrays: the expression at fault and its cure."""

from __future__ import annotations

import ast
import dis
import linecache
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from textwrap import shorten
from types import BuiltinFunctionType, FrameType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import DTYPE_NAMES, ArrayType
from funcdiff.errors import (
    FuncdiffError,
    installed_package,
    is_raised_by_user,
    is_users,
    location_of,
    user_frame,
    user_location,
)
from funcdiff.numpy.messages.foreign import (
    cure_of_call,
    cure_of_compiled,
    is_scipys,
    package_called,
)
from funcdiff.numpy.messages.refusals import refusal_of

IMPORT_LINE: Final = "`import funcdiff.numpy as np` in place of `import numpy as np`"
MADE_INSIDE: Final = (
    f"inside the function: by {IMPORT_LINE}, funcdiff.numpy.zeros(shape), np.zeros_like(x), "
    "np.zeros(shape, like=x) or np.array(y, like=x)"
)
"""Where and how to make an array that takes traced values."""

_STORED: Final = (
    f"An ordinary array cannot hold it. Make one that can, {MADE_INSIDE}; or build a list and "
    "np.stack it."
)
JOINED: Final = (
    f"Use funcdiff.numpy.array([x, y]), as {IMPORT_LINE} does, or np.stack([x, y]): NumPy looks "
    "for traced arrays among arguments, not in lists. A single one is an array already."
)
_FORMATTED: Final = "Write an f-string, which shows the value: f'{{x:.2f}}'."
_CURES: Final = {
    r"int$|math\.(isclose|isfinite|isinf|isnan)$": (
        "Use NumPy's function: np.floor(x), np.isnan(x). For a count or an index, write round(x) "
        "or math.floor(x), or say that it is a constant: int(fd.stop_gradient(x))."
    ),
    r"(fractions\.|decimal\.)?(Fraction|Decimal)$": (
        "Fractions and decimals are made of plain numbers: go on with x itself."
    ),
    r"math\.(dist|hypot)$": (
        "Use np.linalg.norm(x - y), not math.dist(x, y), and np.hypot(x, y), not math.hypot(x, y); "
        "the length of a vector x is np.linalg.norm(x)."
    ),
    r"(math|cmath)\.": "Use {numpy}(x), not {called}(x).",
    r"(.*\.)?(testing\.|assert_)\w+$": (
        "Tests compare plain numbers: test what the function returns, outside of it, or give "
        "fd.stop_gradient(x), which has the value alone, in place of x."
    ),
    r"(statistics\.|fsum$)": "Use np.mean(x), np.median(x) or np.std(x).",
    r"(.*\.)?(as|asany|ascontiguous|asfortran)?array$": JOINED,
    r"(.*\.)?(full|arange|fromiter)$": (
        f"Use the function of that name in funcdiff.numpy, as {IMPORT_LINE} does."
    ),
    r".*\.(__setitem__|copyto|fill|fill_diagonal|place|put|put_along_axis|putmask)$": _STORED,
    r"(.*\.)?(choice|permutation|permuted|shuffle)$": (
        "Draw places that do not depend on x, and take the elements there: "
        "x[rng.permutation(len(x))], x[rng.choice(len(x), size=n)]."
    ),
    r"(.*\.)?(random|rng)\.": (
        "Draw numbers that do not depend on x, and compute with them: "
        "mean + scale * rng.normal(size=n)."
    ),
    r"(?!(np|numpy)\.\w+$).*\.(dot|choose|compress|repeat|searchsorted|take)$": (
        "A method of an ordinary array cannot take a traced one: NumPy asks the arguments of its "
        "functions, not those of methods. Write {function}."
    ),
    r"(.*\.)?as_strided$": (
        "Strides are about memory, and a traced array stands for a value without one: use "
        "np.lib.stride_tricks.sliding_window_view, np.broadcast_to, or slices."
    ),
    r"(.*\.)?vectorize": "Call the function with the whole array, or use fd.vmap(f)(x).",
    r"(.*\.)?(debug|info|warning|error|critical|exception|log)$": _FORMATTED,
    r"(np|numpy)\.(float|complex|u?int)\d+$": (
        "It is an array already: x.astype(np.{name}) converts it."
    ),
    r"(.*\.)?(float|complex|item|tolist)$": (
        "Go on with x itself: it is an array, and has NumPy's functions and methods."
    ),
}
"""By what is called, as the user wrote it."""
_FUNCTIONS: Final = {"compress": "np.compress(y, a)", "dot": "a @ y or np.dot(a, y)"}
"""What to write instead of a method of an array that takes an argument `y`."""

_UNSEEN: Final = (
    "NumPy looks for traced arrays among arguments, not in lists: use the function of that name in "
    f"funcdiff.numpy (by {IMPORT_LINE}), or give it funcdiff.numpy.array([x, y]). Where NumPy "
    "cannot dispatch, because a function makes plain arrays of its arguments, write it with "
    "NumPy's functions (np.sin(x), not math.sin(x)), or declare it with fd.primitive."
)
_OF_A_UFUNC: Final = (
    "NumPy looks for traced arrays among arguments, not in lists: write "
    "{called}(funcdiff.numpy.array([x, y])), or np.stack([x, y])."
)
_ANY: Final = (
    "Keep computing with x and NumPy functions (np.sin(x), not math.sin(x); "
    "funcdiff.numpy.array([x, y]), not np.array([x, y])); make an array that x is stored into with "
    "np.zeros_like(x) or np.zeros(shape, like=x), or build a list and np.stack it. "
    f"{IMPORT_LINE} does both."
)
"""Where the source text is not known."""
_OF_OTHERS: Final = "It is {package} that makes a plain array, at {place}: {cure}"
_OF_PACKAGES: Final = {
    "pandas": (
        "compute that with NumPy's functions of x.to_numpy(), which is the traced array, or with "
        "the function of that name in funcdiff.numpy."
    ),
    "sklearn": (
        "with sklearn.set_config(array_api_dispatch=True), and SCIPY_ARRAY_API=1 in the "
        "environment before SciPy is imported, most metrics and estimators take traced arrays; "
        "declare what is compiled, such as trees and neighbours, with fd.primitive."
    ),
    "xarray": (
        "go on with the DataArray itself, with x.data, which is the traced array, or with the "
        "function of that name in funcdiff.numpy."
    ),
    "torch": (
        "write it with NumPy's functions (np.sin for torch.sin), or bridge PyTorch's code: "
        "fd.interop.torch.use(g) is g for traced arrays."
    ),
    "jax": (
        "write it with NumPy's functions (np.sin for jnp.sin), or bridge JAX's code: "
        "fd.interop.jax.use(g) is g for traced arrays."
    ),
    "numba": (
        "call the function without @njit (f.py_func), whose NumPy code can be traced, or declare "
        "it with fd.primitive, whose rule may call compiled code."
    ),
    "": (
        "give it plain numbers, and compute with NumPy's arrays. If it is Python code, "
        'fd.adapt("{package}") runs it on traced arrays; compiled code can be declared with '
        "fd.primitive."
    ),
}
"""What to write in place of code of a package, by its name; the last is for any other."""
_POLYNOMIALS: Final = (
    "NumPy cannot dispatch inside np.polynomial: use np.polyval(c, x), the highest power first, or "
    "np.polynomial.polynomial.polyval(x, p.convert().coef) for a Polynomial p."
)


_ELSEWHERE: Final = {
    "erf": "scipy.special.erf",
    "erfc": "scipy.special.erfc",
    "fsum": "np.sum",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
    "phase": "np.angle",
}
"""What math and cmath call by another name than NumPy, or what SciPy has."""


class Mistake(NamedTuple):
    """What was being evaluated, as source text that is empty if it is not known; cure and place."""

    code: str
    cure: str
    place: str


def mistake() -> Mistake:
    """Return what the user wrote that is about to make a plain array of a traced one."""
    frame = user_frame()
    if frame is None:
        return Mistake("", _ANY, user_location())
    package = installed_package(frame)
    caller: FrameType | None = frame
    while caller is not None and installed_package(caller):
        caller = caller.f_back
    if package and caller is not None:  # through code of others
        advice = (_OF_PACKAGES.get(package) or _OF_PACKAGES[""]).format(package=package)
        cure = _OF_OTHERS.format(package=package, place=user_location(frame), cure=advice)
        return Mistake(_show(_source_text(caller)), cure, user_location(caller))
    code, cure = _describe(frame)
    return Mistake(code, cure, user_location(frame))


def cure_in_scipy() -> str:
    """Return what to write instead where plain code of SciPy's asks what cannot be; or nothing."""
    frame, inner = user_frame(), user_frame(or_scipys=True)
    if frame is None or inner is frame or not is_scipys(inner):
        return ""
    return cure_of_call(_source_text(frame), frame)


def _describe(frame: FrameType) -> tuple[str, str]:
    """Return what is being evaluated in a frame of the user's, and the cure."""
    code = _source_text(frame)
    shown = _show(code)
    alone = _name_of_builtin()
    if alone:
        return f"{alone}(x)", _cure(alone)
    container = _cure_of_container(code, frame)
    if container:
        return shown, f"{container}."
    if user_frame(or_scipys=True) is not frame:
        return shown, cure_of_call(code, frame)
    if is_called_through("polynomial", frame):
        return shown, _POLYNOMIALS
    if dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("STORE_S"):
        return f"{shown} = ..." if shown else "", _origin(frame, code) + _STORED
    if code.startswith(("'", '"')) and "%" in code:
        return shown, _FORMATTED.format()
    called = _callee(code)
    return shown, cure_of_compiled(code, frame) or (_cure(called) if called else _ANY)


def _name_of_builtin() -> str:
    """Return the name of the function that is traced, if it is one of Python's own in C."""
    f: Any = getattr(getattr(current_builder(), "name", None), "function", None)
    if not isinstance(f, BuiltinFunctionType | type):
        return ""
    module = "" if f.__module__ == "builtins" else f"{f.__module__}."
    return f"{module}{f.__qualname__}"


def _operands(code: str, frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the operands of an expression that are parameters, or items of these, as they are."""
    step: Any = None
    with suppress(SyntaxError, ValueError, IndexError):
        step = ast.parse(code).body[0]
    node = step.value if isinstance(step, ast.Expr) else step
    if node is None:
        return
    place = frame.f_code
    parameters = place.co_varnames[: place.co_argcount + place.co_kwonlyargcount]
    for operand in node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node):
        keys, inner = list[Any](), operand
        while isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
            keys.append(inner.slice.value)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in parameters:
            value = frame.f_locals.get(inner.id)
            with suppress(LookupError, TypeError):
                for key in reversed(keys):
                    value = value[key] if isinstance(value, dict | list | tuple) else None
                yield ast.unparse(operand), value


def _cure_of_container(code: str, frame: FrameType) -> str:
    """Return what to write instead of an argument that is a list or dict of traced numbers."""
    for name, value in _operands(code, frame):
        if not _holds_tracers(value) or isinstance(value, Tracer):
            continue
        kind = type(value).__name__
        if isinstance(value, dict):
            return f"{name} is a dict: compute with its items, {name}[{next(iter(value))!r}]"
        return (
            f"{name} is a {kind}, and a {kind} is a container of numbers, not an array: give "
            f"np.array([...]) in its place, or make it one, funcdiff.numpy.array({name})"
        )
    return ""


def _holds_tracers(value: Any) -> bool:
    """Whether it is traced, or a container that holds something traced."""
    items = value.values() if isinstance(value, dict) else value
    inner = isinstance(value, list | tuple | dict)
    return any(map(_holds_tracers, items)) if inner else isinstance(value, Tracer)


def _origin(frame: FrameType, target: str) -> str:
    """Return a sentence on where the array that is stored into was made, if that is known."""
    name = target.partition("[")[0]
    if not name.isidentifier():
        return ""
    code = frame.f_code
    if name not in (*code.co_varnames, *code.co_cellvars):
        return f"{name} was made outside {code.co_name}. "
    made = None
    for step in dis.get_instructions(code):
        stored = step.opname in ("STORE_FAST", "STORE_DEREF") and step.argval == name
        if stored and step.offset < frame.f_lasti and step.positions:
            made = step.positions.lineno
    if made is None or made == frame.f_lineno:
        return f"{name} is an argument of {code.co_name}. " if made is None else ""
    text = linecache.getline(code.co_filename, made, frame.f_globals).strip()
    return f"`{_show(text)}` in line {made} makes it. " if text else ""


def _callee(code: str) -> str:
    """Return what an expression calls, or the name of NumPy's that it indexes; else nothing."""
    with suppress(SyntaxError, ValueError):
        expression = ast.parse(code, mode="eval").body
        if isinstance(expression, ast.Call):
            return ast.unparse(expression.func)
    found = re.match(r"[\w.]+(?=\()|(np|numpy)\.\w+(?=\[)", code) or re.search(
        r"\.(item|tolist)(?=\([^()]*\)$)", code
    )
    return found[0] if found else ""


def _show(code: str) -> str:
    return shorten(code, 80, placeholder=" ...")


def _cure(called: str) -> str:
    """Return what to write instead of a call, or of an index, of what has that name."""
    name = called.rpartition(".")[2]
    for pattern, cure in _CURES.items():
        if re.match(pattern, called):
            function = _FUNCTIONS.get(name, f"np.{name}(a, y)")
            numpy = _ELSEWHERE.get(name, f"np.{name}")
            return cure.format(called=called, name=name, numpy=numpy, function=function)
    numpys = re.match(r"(np|numpy)\.(\w+)", called)
    if numpys and isinstance(getattr(np, numpys[2], None), np.ufunc):
        return _OF_A_UFUNC.format(called=called)
    refusal = refusal_of(re.sub(r"^(np|numpy)\.", "np.", called))
    return f"{refusal.reason} {refusal.cure}" if refusal else _UNSEEN


def is_called_through(folder: str, frame: FrameType | None = None) -> bool:
    """Return whether code in a folder of that name was called there, and has come to us.

    By default, "there" is the user's code.
    """
    frame = frame or user_frame()
    inner: FrameType | None = sys._getframe(1)
    while inner is not None and inner is not frame:
        if os.path.basename(os.path.dirname(inner.f_code.co_filename)) == folder:
            return True
        inner = inner.f_back
    return False


def _source_text(frame: FrameType, last_instruction: int | None = None) -> str:
    """Return the source text of the expression, or the target of an assignment, in one line.

    It is that of the present instruction, unless another one is given.
    """
    code = frame.f_code
    step = (frame.f_lasti if last_instruction is None else last_instruction) // 2
    positions = next(islice(code.co_positions(), step, None), (None,) * 4)
    first, last, start, end = positions
    if first is None or last is None or start is None or end is None:
        return ""
    found = linecache.getlines(code.co_filename, frame.f_globals)[first - 1 : last]
    if len(found) != last - first + 1:
        return ""
    lines = [line.encode() for line in found]  # positions count bytes
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return " ".join(b"".join(lines).decode(errors="replace").split())


# ---- attributes ------------------------------------------------------------------------------

_ATTRIBUTES: Final = {
    **dict.fromkeys(
        ("backward", "grad", "requires_grad", "requires_grad_", "retain_grad"),
        "Nothing is stored in arrays: fd.grad(f)(x) returns the gradient, and "
        "y, f_vjp = fd.vjp(f, x) what y.backward(gradient=v) computes, f_vjp(v).",
    ),
    **dict.fromkeys(("detach", "detach_"), "Use fd.stop_gradient(x)."),
    **dict.fromkeys(("numpy", "cpu", "cuda", "to"), "It is an array of NumPy's already."),
    "at": "Write x[i] = v, or np.add.at(x, i, v).",
    **dict.fromkeys(("block_until_ready", "to_numpy", "values", "data_ptr"), "Leave it out."),
    **dict.fromkeys(("iloc", "loc", "iat"), "Write x[i]: it is an array, not a table."),
    **dict.fromkeys(("apply", "applymap"), "Call the function with x, or use fd.vmap(f)(x)."),
    **dict.fromkeys(("mm", "bmm", "mv"), "Write x @ y."),
    **dict.fromkeys(("float", "double", "half"), "Use x.astype(np.float64), or another dtype."),
    **dict.fromkeys(("long", "int"), "Use x.astype(np.int64)."),
    **dict.fromkeys(
        ("relu", "sigmoid", "softmax", "log_softmax", "gelu", "elu", "softplus"),
        "Use the function of that name in fd.nn.",
    ),
    **dict.fromkeys(("expand", "expand_as"), "Use np.broadcast_to(x, shape)."),
    **dict.fromkeys(("gather", "index_select"), "Write x[indices], or np.take_along_axis."),
    **dict.fromkeys(("scatter_", "index_put_", "scatter_add_"), "Write x[i] = v, x[i] += v."),
    **dict.fromkeys(("masked_fill", "masked_fill_"), "Use np.where(mask, value, x)."),
    **dict.fromkeys(("fillna",), "Use np.nan_to_num(x), or np.where(np.isnan(x), value, x)."),
    **dict.fromkeys(("chunk", "split"), "Use np.split(x, n)."),
    **dict.fromkeys(("t", "mT", "H", "mH"), "Use x.T, np.matrix_transpose(x), np.conj(x)."),
    "flip": "Use x[::-1] or np.flip(x).",
    "numel": "Use x.size.",
    "dim": "Use x.ndim.",
    "type": "Use x.dtype, or x.astype(dtype).",
    "clone": "Use x.copy().",
    "norm": "Use np.linalg.norm(x).",
    "permute": "Use np.transpose(x, axes).",
    "unsqueeze": "Use np.expand_dims(x, axis).",
    **dict.fromkeys(
        ("add_", "mul_", "sub_", "div_", "zero_", "fill_"), "Write x += y, x[...] = y."
    ),
}
"""What to write instead of attributes that arrays of other libraries have."""


def attribute_cure(name: str) -> str:
    """Return a sentence with what to write instead of an unknown attribute, or nothing."""
    function = vars(np).get(name)
    if name in _ATTRIBUTES:
        return f". {_ATTRIBUTES[name]}"
    if not callable(function) or isinstance(function, type):
        return ""
    operands = "x, y" if getattr(function, "nin", 1) == 2 else "x"
    return f". Use np.{name}({operands})."


# --------------------------------------------------------------------------------------------------
# Explains errors of code that knows no traced arrays: adds the line in the code, and the cure.
#
# json, statistics, numba, NumPy's iterators and Python's calls raise errors of their own where they
# meet a traced array, or a keyword of another library.  They stay what they are; a note is added.


_KEYWORDS: Final = {
    "axes": "axis",
    "correction": "ddof",
    "dim": "axis",
    "dims": "axis",
    "dim0": "axis1",
    "dim1": "axis2",
    "keepdim": "keepdims",
    "unbiased": "ddof",
}
"""What other libraries call a keyword, and what NumPy does."""

_OUTSIDE: Final = (
    "Return what you want to keep as a result (with has_aux=True beside the value) and use it "
    "outside; where no derivative is wanted, write np.asarray(fd.stop_gradient(x))"
)

_CURES_OF_OUTSIDERS: Final = {
    r"Object of type \w+ is not JSON serializable|descriptor '__repr__' requires": (
        f"json writes plain numbers, not traced arrays. {_OUTSIDE}.tolist()"
    ),
    r"could not convert string to float: '~": (
        "the text of a traced number is for reading, and a derivative would be lost: go on with x "
        "itself, or with np.round(x, 3)"
    ),
    r"can't convert type '\w+' to numerator/denominator": (
        "statistics computes with plain numbers: use np.mean(x), np.median(x), np.std(x, ddof=1) "
        "or np.var(x, ddof=1)"
    ),
    (
        r"conversion from \w+ to Decimal|argument should be a string or a Rational|"
        r"Rational instance"
    ): (
        "decimals and fractions are made of plain numbers, and a derivative would be lost: go on "
        "with x itself"
    ),
    r"WRITEBACKIFCOPY|Iterator operand": (
        "np.nditer walks over the memory of an array, and a traced one stands for a value without "
        "one: use array operations, `for v in x.flat`, or `for index in np.ndindex(x.shape)`"
    ),
    r"Error setting single item of array": (
        f"an ordinary array cannot hold a traced value: make one that can, {MADE_INSIDE}; or "
        "build a list and np.stack it"
    ),
    r"nopython|[nN]umba|can't unbox": (
        "numba compiles for plain arrays: call the function without @njit (f.py_func) to trace "
        "its NumPy code, or declare it with fd.primitive, whose rule may call compiled code"
    ),
    r"bad argument type for built-in operation": (
        "compiled code, such as a function of numba's, takes plain numbers: call what it was "
        "compiled from (f.py_func of numba's), or declare it with fd.primitive, whose rule may "
        "call compiled code"
    ),
    r"must be numpy\.ndarray, not \w+|(got|received a) '?(NDArray|Number|Scalar)\b"
    r"|incompatible function arguments": (
        "compiled code takes plain arrays alone: make the object by the function of that name "
        "in funcdiff.scipy (scipy.sparse.linalg.splu, say), or declare the call with fd.primitive"
    ),
    r"required argument is not (a float|an integer)": (
        f"struct and the like write plain numbers, not traced arrays. {_OUTSIDE}.item()"
    ),
    r"[tT]ruth value of an array": (
        "`if`, `and`, `max` and `min` take one boolean: use np.where(mask, a, b) for arrays, & for "
        "`and`, np.maximum(a, b) for `max`, or np.any(mask), np.all(mask)"
    ),
    r"expected a sequence of integers or a single integer": (
        "a shape is made of integers that are known before: write x.shape, len(x) or int(n) of a "
        "plain n"
    ),
    r"a bytes-like object is required": (
        "a traced array has no memory that could be read: declare compiled code with fd.primitive. "
        f"{_OUTSIDE}"
    ),
}
"""By the text of the error."""

_PACKAGES: Final = {"numba": "; f.py_func is the NumPy code that numba compiles"}
"""What is to be said of a package beside."""


def note_cure(error: Exception, refused: tuple[type[Exception], str] | None = None) -> None:
    """Note where the user called code that raised for meeting a traced array, and the cure.

    `error` is as it left the traced function; those of funcdiff say these things themselves.
    `refused` is the kind and message of an error of ours that was raised in the trace before: code
    in C (a solver of SciPy's) may have put one of its own in its place.
    """
    if isinstance(error, FuncdiffError):
        _note_package(error)
        return
    cure = _cure_of(error) or _cure_at_end(error)
    if cure:
        place = location_of(error)
        place = user_location() if place == "an unknown place" else place  # f is compiled itself
        note = f"funcdiff: at {place}, while traced: {cure.rstrip('.')}."
        if note not in getattr(error, "__notes__", ()):  # by a trace within this one
            error.add_note(note)
    elif refused is not None and not _follows(error, refused[1]):
        error.add_note(f"funcdiff: {refused[1]}")


def _follows(error: BaseException | None, message: str) -> bool:
    """Whether Python shows an error of this message with another one, as its cause."""
    while error is not None:
        if str(error).startswith(message):
            return True
        error = error.__cause__ or error.__context__
    return False


def _note_package(error: FuncdiffError) -> None:
    """Note where the user called the installed package in which one of our errors was raised."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    package = next(filter(None, map(installed_package, reversed(frames))), "")
    place = location_of(error)
    if package and place not in str(error) and place != "an unknown place":
        error.add_note(
            f"funcdiff: {package} was called at {place}, and met a traced array there. Give it "
            f'plain arrays, or run it on traced ones, if it is Python, by fd.adapt("{package}"); '
            "compiled code can be declared with fd.primitive"
            f"{_PACKAGES.get(package, '')}."
        )


def _cure_of(error: Exception) -> str:
    text = str(error)
    keyword = re.match(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", text)
    if keyword:
        return _cure_of_keyword(*keyword.groups())
    return next(
        (cure for pattern, cure in _CURES_OF_OUTSIDERS.items() if re.search(pattern, text)), ""
    )


def _cure_at_end(error: Exception) -> str:
    """Return what to write instead of the line of the user's that came last, or nothing.

    It uses a list as an array, or gives a traced array to compiled code of a package.
    """
    trace, last = error.__traceback__, None
    while trace is not None:
        frame = trace.tb_frame
        last = trace if is_users(frame) and not installed_package(frame) else last
        trace = trace.tb_next
    if last is None:
        return ""
    frame = last.tb_frame
    code = _source_text(frame, last.tb_lasti)
    if re.search(r"\b(list|tuple|dict|sequence)\b", str(error)):
        return _cure_of_container(code, frame)
    package = package_called(code, frame)
    if not package or not any(isinstance(x, Tracer) for _, x in _operands(code, frame)):
        return ""
    advice = (_OF_PACKAGES.get(package) or _OF_PACKAGES[""]).format(package=package)
    return f"{_show(code)} gives a traced array to {package}: {advice}"


def _cure_of_keyword(function: str, keyword: str) -> str:
    known: Any = getattr(np, function, None) or getattr(np.ndarray, function, None)
    if known is None or keyword not in _KEYWORDS:
        return ""
    return f"np.{function} is NumPy's, which says {_KEYWORDS[keyword]} for {keyword}"


# ---- Explains errors of wrong calls: the function, shapes and dtypes, and the line ---------------
#
# The errors themselves are NumPy's own, in type and wording; what NumPy does not know is noted.


def explain(
    error: Exception, name: str, operands: Iterable[Any], keywords: Mapping[str, Any] | None = None
) -> None:
    """Note in an error which call it comes from, unless it says where or the user raised it.

    Of calls that call others, the outermost is named: it is what the user wrote.

    Parameters
    ----------
    error
        As it was caught.
    name
        What was called: ``np.sum``.
    operands, keywords
        Its arguments; of arrays, the types are shown.
    """
    where = user_location()
    if where in str(error) or is_raised_by_user(error):
        return
    notes: list[str] = getattr(error, "__notes__", [])
    if notes and notes[-1].startswith("funcdiff: ") and notes[-1].endswith(where):
        notes.pop()
    given = [_show_operand(x) for x in operands]
    given += [f"{key}={_show_operand(x)}" for key, x in (keywords or {}).items()]
    error.add_note(f"funcdiff: in {name}({', '.join(given)}), at {where}")


def _show_operand(x: Any) -> str:
    if isinstance(x, Tracer):
        return str(x.type)
    if isinstance(x, np.ndarray | np.generic):
        known = x.dtype in DTYPE_NAMES
        return str(ArrayType(x.shape, x.dtype)) if known else f"an array of dtype {x.dtype}"
    if isinstance(x, list | tuple) and any(isinstance(y, Tracer | np.ndarray) for y in x):
        return shorten(f"[{', '.join(map(_show_operand, x))}]", 80, placeholder=" ...]")
    return shorten(getattr(x, "__name__", repr(x)), 40, placeholder=" ...")
