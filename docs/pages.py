"""Writes a page for every public name when Sphinx starts, from the groups below and the docstrings.

``GROUPS`` says under which heading a name is found, and nothing else is kept by hand: a public name
in no group, or a name that is not there, ends the build (and a test).
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import funcdiff as fd

HERE: Final = Path(__file__).parent
NAMESPACES: Final = (
    "funcdiff",
    "funcdiff.nn",
    "funcdiff.pytree",
    "funcdiff.testing",
    "funcdiff.dask",
)
"""Packages of which every name in ``__all__`` has a page of its own."""


class Group(NamedTuple):
    """A heading of the reference, what is said below it, and the names that follow."""

    title: str
    lead: str
    names: str


GROUPS: Final = (
    Group(
        "Derivatives of scalars",
        "Gradients, and derivatives by one number: [Gradients](gradients.md).",
        "grad value_and_grad elementwise_grad derivative directional_derivative stop_gradient",
    ),
    Group(
        "Products with Jacobians and Hessians",
        "Jacobian-vector products (JVP, forward mode), vector-Jacobian products (VJP, reverse "
        "mode), and products with second derivatives: [Products](products.md).",
        "jvp vjp linearize linear_transpose hvp vhp gauss_newton_product",
    ),
    Group(
        "Jacobians and Hessians",
        "As arrays or sparse matrices: [Jacobians](jacobians.md), [sparse ones](sparse.md).",
        "jacobian jacfwd jacrev value_and_jacobian hessian value_grad_and_hessian "
        "sparsity depends_on is_linear",
    ),
    Group(
        "Batches, branches, loops",
        "[Batching](batching.md), [branches and loops](control-flow.md).",
        "vmap cond switch scan while_loop fori_loop map associative_scan",
    ),
    Group(
        "Solutions of equations",
        "[Derivatives of solutions](implicit.md), [minima under constraints](programs.md).",
        "fixed_point custom_root custom_linear_solve nlp programs.nonlinear.NonlinearProgram "
        "programs.solutions.Solution",
    ),
    Group(
        "Uncertainty",
        "[Covariances of results, errors of estimates, designs](uncertainty.md).",
        "propagate uncertainty.propagate.Propagated standard_errors fisher_information "
        "confidence_intervals design.criterion",
    ),
    Group(
        "Rules of your own", "[Custom rules](custom-rules.md).", "custom_jvp custom_vjp primitive"
    ),
    Group("Packages that others wrote", "[Run them on traced arrays](packages.md).", "adapt"),
    Group(
        "Speed and memory",
        "[Compile](jit.md), [use less memory](memory.md).",
        "jit checkpoint set_num_threads get_num_threads cache_info clear_caches",
    ),
    Group("Values inside a function", "[Taps](taps.md).", "tap tap_values tap_grads"),
    Group(
        "Programs, source text and explanations",
        "[Explain a call](explain.md), [draw it](draw.md), [read the code](source.md), [run it "
        "elsewhere](export.md).",
        "trace parse evaluate Program source cost explain draw describe export "
        "reading.views.Exported reading.drawing.picture.Drawing",
    ),
    Group(
        "Containers",
        "`funcdiff.pytree`: [Containers](containers.md).",
        "ravel_pytree pytree.flatten pytree.flatten_with_paths pytree.unflatten pytree.map "
        "pytree.paths pytree.register pytree.Structure pytree.LEAF",
    ),
    Group(
        "Densities",
        "[Densities for samplers](densities.md).",
        "density densities.unconstrained.Density densities.nuts.Draws "
        "densities.laplace.Approximation",
    ),
    Group(
        "Networks",
        "`funcdiff.nn`: [Networks](nn.md).",
        "nn.conv nn.max_pool nn.avg_pool nn.softmax nn.log_softmax nn.logsumexp nn.relu nn.gelu "
        "nn.sigmoid nn.softplus",
    ),
    Group(
        "Checks",
        "`funcdiff.testing`: [Check derivatives](testing.md).",
        "testing.check_grads testing.check_jvp testing.check_vjp testing.check_rules "
        "testing.strategies",
    ),
    Group(
        "Many machines",
        "`funcdiff.dask`: [Dask](dask.md).",
        "dask.value_and_grad dask.grad dask.hvp dask.gauss_newton_product dask.jacobian dask.vmap",
    ),
    Group(
        "NumPy's names",
        "`funcdiff.numpy` has all of NumPy under its own names, and [Coverage](coverage.md) lists "
        "what is differentiated. These are funcdiff's own, because NumPy cannot dispatch them.",
        "numpy.creation.construction.array numpy.creation.construction.asarray "
        "numpy.creation.construction.ascontiguousarray numpy.creation.construction.full "
        "numpy.creation.construction.arange numpy.creation.construction.fromiter",
    ),
    Group(
        "Modules",
        "The namespaces as a whole: what each is for. `funcdiff.scipy` has SciPy's names "
        "([With SciPy](scipy.md)), `funcdiff.autograd` those of autograd ([Coming from "
        "autograd](from-autograd.md)), `funcdiff.interop` [bridges](bridges.md); "
        "[Errors](errors.md) has a page for each exception.",
        "typing autograd numpy scipy nn pytree testing dask interop design",
    ),
)

_MEMBERS: Final = ("typing", "autograd", "testing.strategies")
"""Modules whose names are shown on the page of the module."""


def find(name: str) -> Any:
    """Return what a name of a group stands for: ``"pytree.map"`` is ``funcdiff.pytree.map``."""
    found: Any = fd
    path = "funcdiff"
    for part in name.split("."):
        path = f"{path}.{part}"
        found = getattr(found, part, None) or importlib.import_module(path)
    return found


def public_names() -> set[str]:
    """Return all names of which there has to be a page, without ``funcdiff.``."""
    names = set()
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        inside = namespace.partition(".")[2]
        for name in module.__all__:
            if not (namespace == "funcdiff" and name == "errors"):
                names.add(f"{inside}.{name}" if inside else name)
    return names


def shown_name(name: str) -> str:
    """Return how users write a name: ``funcdiff.numpy.array``."""
    parts = name.split(".")
    return ".".join(["funcdiff", parts[0], *parts[-1:]]) if len(parts) > 3 else f"funcdiff.{name}"


def summary(name: str) -> str:
    """Return the first sentence of a docstring, on one line."""
    if name == "pytree.LEAF":
        return "The structure of a single leaf."
    paragraph = (inspect.getdoc(find(name)) or "").partition("\n\n")[0]
    return " ".join(paragraph.replace("``", "`").split())


def check_groups() -> None:
    """Raise a ValueError if a public name is in no group, or one is in two."""
    grouped = [name for group in GROUPS for name in group.names.split()]
    if missing := sorted(public_names() - set(grouped)):
        raise ValueError(f"docs/pages.py: in no group of GROUPS: {', '.join(missing)}")
    if twice := sorted({name for name in grouped if grouped.count(name) > 1}):
        raise ValueError(f"docs/pages.py: in two groups of GROUPS: {', '.join(twice)}")


def write_pages() -> None:
    """Write ``docs/api/NAME.md`` for every name, and the lists that ``reference.md`` includes."""
    check_groups()
    folder = HERE / "api"
    folder.mkdir(exist_ok=True)
    pages = {f"{shown_name(name)}.md": _page(name) for g in GROUPS for name in g.names.split()}
    pages["groups.txt"] = "\n".join(_listed(group) for group in GROUPS)
    for old in folder.iterdir():
        if old.name not in pages:
            old.unlink()
    for file, text in pages.items():
        path = folder / file
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _listed(group: Group) -> str:
    names = group.names.split()
    toctree = ["```{toctree}", ":hidden:", "", *[f"api/{shown_name(n)}" for n in names], "```"]
    table = _table(names, "api/")
    return "\n".join([f"## {group.title}", "", group.lead, "", *table, "", *toctree, ""])


def _table(names: Sequence[str], folder: str) -> list[str]:
    """Return a table of names with links, and what they do."""
    rows = [
        f"| [`{shown_name(n)}`]({folder}{shown_name(n)}.md) | {_cell(summary(n))} |" for n in names
    ]
    return [
        ":::{container} reference",
        "",
        "| name | what it does |",
        "|---|---|",
        *rows,
        "",
        ":::",
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(name: str) -> str:
    shown = shown_name(name)
    description = summary(name).replace('"', "'").replace("`", "")
    head = ["---", "myst:", "  html_meta:", f'    description: "{shown}: {description}"', "---", ""]
    lines = [*head, f"# {shown}", "", "```{eval-rst}", *_directive(name), "```", ""]
    inside = [n for group in GROUPS for n in group.names.split() if n.startswith(f"{name}.")]
    if isinstance(find(name), ModuleType) and inside and name not in _MEMBERS:
        lines += ["", *_table(inside, ""), ""]
    return "\n".join(lines)


def _directive(name: str) -> list[str]:
    found, full = find(name), f"funcdiff.{name}"
    if isinstance(found, ModuleType):
        if name not in _MEMBERS:
            return [f".. automodule:: {full}"]
        others = [n for n, value in vars(found).items() if _is_elsewhere(value)]
        return [
            f".. automodule:: {full}",
            "   :members:",
            f"   :exclude-members: {', '.join(others)}",
        ]
    if inspect.isclass(found):
        calls = ["   :members: __call__"] if "__call__" in vars(found) else []
        return [f".. autoclass:: {full}", *calls]
    kind = "autofunction" if inspect.isroutine(found) else "autodata"
    return [f".. {kind}:: {full}"]


def _is_elsewhere(value: Any) -> bool:
    home = getattr(value, "__module__", None)
    return home is not None and not home.startswith("funcdiff")


_SIGNATURE: Final = re.compile(r"<dl>\n((?:<dd><em class=\"sig-param\">.*?</dd>\n)+)</dl>")


def _mend_html(_app: Any, _page: str, _template: str, context: Any, _doctree: Any) -> None:
    """Write what readers of screens ask for.

    The captions of the navigation, which are headings, get a level; the lines of a long signature,
    a list of definitions without anything that is defined, become plain lines.
    """
    tree = context.get("furo_navigation_tree")
    if tree:
        level = 'role="heading" aria-level="2"'
        context["furo_navigation_tree"] = tree.replace('role="heading"', level)
    body = context.get("body")
    if body:
        context["body"] = _SIGNATURE.sub(_plain_lines, body)


def _plain_lines(found: re.Match[str]) -> str:
    lines = found[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")
    return f'<span class="sig-lines">\n{lines}</span>'


def setup(app: Any) -> dict[str, Any]:
    """Write the pages when Sphinx loads its configuration, before it looks for sources."""
    write_pages()
    app.connect("html-page-context", _mend_html, priority=900)
    return {"parallel_read_safe": True}
