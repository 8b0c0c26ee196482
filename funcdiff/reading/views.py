"""Implements `source`, `export`, `cost`, `explain` and `draw`, of functions and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args, overload

from funcdiff.api.calls.arguments import check_function
from funcdiff.api.calls.transformed import display_name, transform
from funcdiff.api.signatures.variables import P
from funcdiff.core.late import late_import
from funcdiff.core.program import Program
from funcdiff.core.recording.concrete import running
from funcdiff.core.recording.quiet import quiet
from funcdiff.errors import InputError, user_location
from funcdiff.reading.costs import Cost, cost_of
from funcdiff.reading.drawing.picture import Drawing, drawing_of, sizes_of
from funcdiff.reading.explanation.calls import explanation
from funcdiff.reading.explanation.report import Report
from funcdiff.reading.interfaces import interface, summary_of
from funcdiff.reading.provenance import Examined
from funcdiff.reading.tables import Code
from funcdiff.reading.text.module import module
from funcdiff.reading.text.writer import Dialect

# ---- Programs that run elsewhere: the text of one for a library of arrays, and a call of it ------


Target: TypeAlias = Literal["cupy", "jax", "numpy", "torch"]

TARGETS: Final[tuple[Target, ...]] = get_args(Target)


@dataclass(frozen=True, eq=False)
class Exported:
    """A function of another library's arrays, as a text and ready to be called.

    A call runs the text, with the arrays that the function closes over, unless others are given
    by keyword.  It takes arrays of the shapes that it was made for.  Attributes are read-only, and
    it can be pickled.

    Attributes
    ----------
    source
        The text of the module, which runs without funcdiff.
    target
        The library: "cupy", "jax", "numpy" or "torch".
    name
        Of the function in the module.
    captured
        The arrays that the text does not hold, by the keyword by which its function takes them.
    """

    source: str
    target: Target
    name: str
    captured: Mapping[str, Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result, in the library's arrays."""
        return function_of(self.source, self.name)(*args, **{**self.captured, **kwargs})

    def __repr__(self) -> str:
        return f"<{self.name} for {self.target}: {self.source.count(chr(10))} lines in .source>"


@lru_cache(maxsize=256)
def function_of(source: str, name: str) -> Callable[..., Any]:
    """Return the function of a module; the library is imported here, if it is not yet."""
    scope: dict[str, Any] = {"__name__": f"funcdiff_export_{name}"}
    exec(compile(source, f"<funcdiff export of {name}>", "exec"), scope)
    function: Callable[..., Any] = scope[name]
    return function


def export_call(
    f: Callable[..., Any], target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exported:
    """Return a call of a function, written for a library."""
    dialect: Dialect = late_import(f"funcdiff.reading.export.{target}").DIALECT
    examined = Examined.of(f, args, kwargs)
    written = interface(f, examined, args, kwargs, dialect)
    return Exported(
        module(examined.program, written, dialect), target, written.name, written.captured
    )


def check_target(f: Callable[..., Any], target: str) -> None:
    """Refuse what is no target."""
    if not isinstance(target, str) or target not in TARGETS:
        raise InputError(
            f"export({display_name(f)}) got the target {target!r} at {user_location()}. Give "
            f"one of {', '.join(map(repr, TARGETS))}."
        )


@transform
def source(f: Callable[P, Any]) -> Callable[P, str]:
    r"""Return a function that shows a call as NumPy code instead of running it.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays.  Derivatives work too: ``source(grad(f))(x)``
        is the gradient as a person would have written it.

    Returns
    -------
    callable
        Of the arguments of `f`, returning the text of a module with one function of these
        arguments; a notebook shows it as code.  It runs with NumPy alone (and ``scipy.special``
        where that is called), and computes the bits that `funcdiff.evaluate` does with
        ``trace(f)``.  Arguments keep their containers; results are rebuilt as tuples, lists and
        dicts, of classes as dicts of their fields.  Small arrays that `f` closes over are written
        out; those of more than 16 elements are parameters, to be given by keyword.

    Raises
    ------
    InputError
        When called while something is traced, or if a part of an argument cannot be reached by
        an expression such as ``params["w"]``.
    ProgramError
        When called, if an operation has no text.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> def energy(x):
    ...     y = np.sin(x)
    ...     return np.sum(y * y)
    >>> text = fd.source(fd.grad(energy))(np.array([0.1, 0.2]))
    >>> print("\n".join(text.split("\n")[-8:-1]))
        # ...:2: y = np.sin(x)
        y = np.sin(x)
        # derivative of line 3: return np.sum(y * y)
        d_y = 2.0 * y
        # derivative of line 2: y = np.sin(x)
        d_x = d_y * np.cos(x)
        return d_x
    """
    check_function(f, "source")

    def text(*args: P.args, **kwargs: P.kwargs) -> str:
        examined = Examined.of(f, args, kwargs)
        return Code(module(examined.program, interface(f, examined, args, kwargs)))

    return text


@transform
def export(f: Callable[P, Any], target: Target) -> Callable[P, Exported]:
    r"""Return a function that writes a call for another library of arrays instead of running it.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays.  Derivatives work too: ``export(grad(f),
        "jax")(x)`` is the gradient for JAX.
    target
        ``"jax"``, ``"torch"``, ``"cupy"`` or ``"numpy"``.

    Returns
    -------
    callable
        Of the arguments of `f`, NumPy's arrays that are examples, returning an object that is
        called with the library's arrays, or NumPy's, of the same shapes, in the same containers.
        They are converted to the dtypes of the examples, and results have the dtypes that NumPy
        gives.  The text, which runs without funcdiff, is its ``source``; arrays that `f` closes
        over and that the text does not hold are in ``captured``.

    Raises
    ------
    InputError
        If the target is none of these.  When called while something is traced, or if a part of an
        argument cannot be reached by an expression such as ``params["w"]``.
    ProgramError
        When called, if the library lacks an operation; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> def energy(x):
    ...     return np.sum(np.sin(x) ** 2)
    >>> gradient = fd.export(fd.grad(energy), "torch")(np.array([0.1, 0.2]))
    >>> print("\n".join(gradient.source.split("\n")[-5:-1]))
        x = torch.as_tensor(x, dtype=torch.float64)
        # derivative of line 2: return np.sum(np.sin(x) ** 2)
        d_x = 2.0 * torch.sin(x) * torch.cos(x)
        return d_x
    """
    check_function(f, "export")
    check_target(f, target)

    def export_f(*args: P.args, **kwargs: P.kwargs) -> Exported:
        return export_call(f, target, args, kwargs)

    return export_f


@transform
def cost(f: Callable[P, Any]) -> Callable[P, Cost]:
    """Return a function that counts what a call costs instead of running it.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays.  Derivatives work too: ``cost(grad(f))(x)``.

    Returns
    -------
    callable
        Of the arguments of `f`, returning an immutable object with the number of floating-point
        operations (``flops``), of bytes that are read and written (``read``, ``written`` and,
        together, ``bytes``), the most bytes that arrays take at any time (``peak``), and the
        number of equations (``equations``).  ``rows`` has the same by lines of the user's; printed,
        they are a table.  What is counted is said in the guide to reading code.

    Raises
    ------
    InputError
        When called while something is traced.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> counted = fd.cost(lambda x, y: np.sum(x @ y))(np.ones((20, 30)), np.ones((30, 40)))
    >>> counted.flops, counted.read, counted.written, counted.equations
    (48800, 20800, 6408, 2)
    """
    check_function(f, "cost")

    def cost_f(*args: P.args, **kwargs: P.kwargs) -> Cost:
        examined = Examined.of(f, args, kwargs)
        return cost_of(examined.program)

    return cost_f


@transform
def explain(f: Callable[P, Any]) -> Callable[P, Report]:
    """Return a function that explains a call: what is not finite, kinks, costs, and advice.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays.  Of a derivative, ``explain(grad(f))(x)`` looks
        at values and cotangents alike.

    Returns
    -------
    callable
        Of the arguments of `f`, returning an immutable report: where something is first not finite
        that reaches the result (``faults``), what `np.where` drops (``masked``), operands on a kink
        or near one, with the convention (``kinks``), formulas that lose digits or time at these
        values (``advice``) and what lines cost (``lines``).  It prints as text, shows as a page in
        a notebook, and ``save("report.html")`` writes the page to a file.

    Raises
    ------
    InputError
        When called while something is traced.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> report = fd.explain(fd.grad(lambda x: np.sum(np.sqrt(x))))(np.array([4.0, 0.0]))
    >>> (fault,) = report.faults
    >>> fault.kind, fault.found, fault.index, fault.place.line
    ('derivative', 'inf', (1,), 1)
    """
    check_function(f, "explain")

    def explain_f(*args: P.args, **kwargs: P.kwargs) -> Report:
        return quiet(explanation, summary_of(f), f, args, kwargs)

    return explain_f


@overload
def draw(f: Program, *, sizes: bool = False) -> Callable[..., Drawing]: ...
@overload
def draw(f: Callable[P, Any], *, sizes: bool = False) -> Callable[P, Drawing]: ...
@transform
def draw(f: Any, *, sizes: bool = False) -> Callable[..., Drawing]:
    """Return a function that draws the graph of a call instead of running it.

    Values have one colour, what only their derivatives need has another, and thick lines are values
    that derivatives use.  Beside the graph stand the lines of `f` and their derivatives.  Loops and
    branches are one node, and of more than 150 equations each line is.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, or a program.  Derivatives work too:
        ``draw(grad(f))(x)``.
    sizes
        Whether to run the call, and colour each derivative by its root mean square.

    Returns
    -------
    callable
        Of the arguments of `f` (those of a program are needed for `sizes` only), returning an
        immutable object with the picture as ``svg`` and the text for graphviz as ``dot``.  It shows
        in a notebook, and ``save("f.svg")`` or ``save("f.dot")`` writes it to a file.

    Raises
    ------
    InputError
        When called while something is traced.
    MissingDependencyError
        When ``svg`` is asked for, if igraph is not installed; ``dot`` needs nothing.

    Examples
    --------
    >>> import funcdiff as fd
    >>> fd.draw(fd.value_and_grad(lambda a, b: a * b))(2.0, 3.0)
    <drawing of value_and_grad(f): 5 nodes in 1 lines; see .svg, .dot, .save>
    """
    if isinstance(f, Program):

        def of_program(*args: Any) -> Drawing:
            return drawing_of("program", f, sizes=sizes_of(f, args) if sizes else None)

        return of_program
    check_function(f, "draw")

    def draw_f(*args: Any, **kwargs: Any) -> Drawing:
        examined = Examined.of(f, args, kwargs)
        program, trace = examined.program, examined.trace
        found = None
        if sizes:
            arrays = [*examined.operands, *trace.captures]
            with nullcontext() if trace.calls is None else running(trace.calls):
                found = quiet(lambda: sizes_of(program, arrays))
        captured = [examined.notes.array_name(x) for x in trace.captures]
        return drawing_of(summary_of(f), program, captured=captured, trace=trace, sizes=found)

    return draw_f
