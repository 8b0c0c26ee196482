"""Three derivatives in seven libraries, from a fresh process: for the page on what to choose.

Each library computes each in a process of its own, which imports it, computes once, and then again
and again.  Run ``python -m docs.benchmarks.comparison --write figures`` in the environment `bench`,
and with ``--write advect`` where funcdiff, autograd and Advect are installed (Python 3.12).
"""

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "choosing.md"
SECTIONS = ("figures", "advect")

ROWS, FEATURES, STEPS, SIZE = 2000, 20, 200, 200
TASKS = {
    "regression": f"gradient of a logistic regression, {ROWS} x {FEATURES}",
    "orbit": f"gradient through {STEPS} Runge-Kutta steps in a Python loop, 4 parameters",
    "hessian": f"dense Hessian of the chained Rosenbrock function, {SIZE} numbers",
}
LIBRARIES = {
    "funcdiff": "funcdiff",
    "funcdiff, jit": "funcdiff",
    "autograd": "autograd",
    "jax": "jax",
    "jax, jit": "jax",
    "torch": "torch",
    "casadi": "casadi",
    "advect": "advect",
    "advect, staged": "advect",
}

Compute = Callable[[], Any]


# ---- the functions, in the words of a namespace like NumPy's ---------------------------------


def regression(xp: Any, w: Any, X: Any, y: Any) -> Any:
    return xp.mean(xp.log(1 + xp.exp(-y * (X @ w))))


def slopes(p: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return p[0] * x - p[1] * x * y, p[3] * x * y - p[2] * y


def step(p: Any, x: Any, y: Any) -> tuple[Any, Any]:
    h = 0.05
    a, b = slopes(p, x, y)
    c, d = slopes(p, x + h / 2 * a, y + h / 2 * b)
    e, f = slopes(p, x + h / 2 * c, y + h / 2 * d)
    g, k = slopes(p, x + h * e, y + h * f)
    return x + h / 6 * (a + 2 * c + 2 * e + g), y + h / 6 * (b + 2 * d + 2 * f + k)


def orbit(p: Any) -> Any:
    """Return how far predators and prey are from where they shall be, after Runge-Kutta steps."""
    x, y = 1.0, 0.5
    for _ in range(STEPS):
        x, y = step(p, x, y)
    return (x - 1) ** 2 + (y - 1) ** 2


def orbit_of_lax(jax: Any, p: Any) -> Any:
    """Do the same by a loop of JAX: XLA takes minutes for the other one."""
    x, y = jax.lax.fori_loop(0, STEPS, lambda _, state: step(p, *state), (1.0, 0.5))
    return (x - 1) ** 2 + (y - 1) ** 2


def rosenbrock(xp: Any, x: Any) -> Any:
    return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


# ---- the derivatives, library by library --------------------------------------------------------


def of_transforms(np: ModuleType, data: dict[str, Any], library: ModuleType, xp: Any) -> Any:
    """Return the derivatives of a library with ``grad`` and ``hessian``."""
    X, y = data["X"], data["y"]
    return {
        "regression": (library.grad(lambda w: regression(xp, w, X, y)), data["w"]),
        "orbit": (library.grad(orbit), data["p"]),
        "hessian": (library.hessian(lambda x: rosenbrock(xp, x)), data["x"]),
    }


def staging(advect: Any) -> Any:
    """Return Advect's transforms of programs, which are made at the first call."""

    def of(transform: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
            made: list[Any] = []

            def call(x: Any) -> Any:
                if not made:
                    made.append(transform(advect.stage(f, x)))
                return made[0](x)

            return call

        return derivative

    return SimpleNamespace(grad=of(advect.grad), hessian=of(advect.hessian))


def in_torch(np: ModuleType, data: dict[str, Any], torch: Any) -> Any:
    X, y = torch.from_numpy(data["X"]), torch.from_numpy(data["y"])

    def gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def of(values: Any) -> Any:
            x = torch.from_numpy(values).requires_grad_()
            f(x).backward()
            return x.grad.numpy()

        return of

    def hessian(values: Any) -> Any:
        of_loss = torch.func.hessian(lambda x: rosenbrock(torch, x))
        return of_loss(torch.from_numpy(values)).numpy()

    return {
        "regression": (gradient(lambda w: regression(torch, w, X, y)), data["w"]),
        "orbit": (gradient(orbit), data["p"]),
        "hessian": (hessian, data["x"]),
    }


def in_casadi(np: ModuleType, data: dict[str, Any], casadi: Any) -> Any:
    """Return derivatives by expressions: matrices for the regression, else scalars."""

    def function(symbols: Any, result: Any) -> Callable[[Any], Any]:
        call = casadi.Function("derivative", [symbols], [result])
        return lambda values: np.asarray(call(values)).squeeze()

    def of_regression(values: Any) -> Any:
        w = casadi.MX.sym("w", FEATURES)
        terms = casadi.log(1 + casadi.exp(-data["y"] * (casadi.DM(data["X"]) @ w)))
        return function(w, casadi.gradient(casadi.sum1(terms) / ROWS, w))

    def of_orbit(values: Any) -> Any:
        p = casadi.SX.sym("p", 4)
        return function(p, casadi.gradient(orbit([p[k] for k in range(4)]), p))

    def of_hessian(values: Any) -> Any:
        x = casadi.SX.sym("x", SIZE)
        value = casadi.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
        return function(x, casadi.densify(casadi.hessian(value, x)[0]))

    def once(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        made: list[Any] = []

        def call(values: Any) -> Any:
            if not made:
                made.append(make(values))
            return made[0](values)

        return call

    return {
        "regression": (once(of_regression), data["w"]),
        "orbit": (once(of_orbit), data["p"]),
        "hessian": (once(of_hessian), data["x"]),
    }


def derivative(library: str, task: str, np: ModuleType, data: dict[str, Any]) -> Compute:
    """Return the call that computes a derivative of NumPy's arrays as one of NumPy."""
    module = importlib.import_module(LIBRARIES[library])
    if library == "torch":
        f, x = in_torch(np, data, module)[task]
        return lambda: f(x)
    if library == "casadi":
        f, x = in_casadi(np, data, module)[task]
        return lambda: f(x)
    xp = {"autograd": "autograd.numpy", "jax": "jax.numpy"}.get(module.__name__, "numpy")
    transforms = staging(module) if library == "advect, staged" else module
    f, x = of_transforms(np, data, transforms, importlib.import_module(xp))[task]
    if (library, task) == ("jax, jit", "orbit"):
        f = module.grad(lambda p: orbit_of_lax(module, p))
    if library.endswith("jit"):
        f = module.jit(f)
    return lambda: np.asarray(f(x))


# ---- measuring ----------------------------------------------------------------------------------


def measure(library: str, task: str) -> dict[str, Any]:
    """Return seconds of CPU: of the import, of the first call, and of a later one."""
    np = importlib.import_module("numpy")
    started = time.process_time()
    module = importlib.import_module(LIBRARIES[library])
    if library == "autograd":
        importlib.import_module("autograd.numpy")
    if LIBRARIES[library] == "jax":
        module.config.update("jax_enable_x64", True)
        importlib.import_module("jax.numpy")
    imported = time.process_time()
    rng = np.random.default_rng(0)
    data = {
        "X": rng.normal(size=(ROWS, FEATURES)),
        "y": rng.choice([-1.0, 1.0], size=ROWS),
        "w": rng.normal(size=FEATURES),
        "p": np.array([1.1, 0.4, 0.4, 0.1]),
        "x": rng.normal(size=SIZE),
    }
    begun = time.process_time()
    compute = derivative(library, task, np, data)
    first = compute()
    done = time.process_time()
    spent: list[float] = []
    while len(spent) < 8 or (sum(spent) < 1.0 and len(spent) < 1000):
        before = time.process_time()
        compute()
        spent.append(time.process_time() - before)
    return {
        "import": imported - started,
        "first": done - begun,
        "later": statistics.median(spent[3:]),
        "result": np.asarray(first, dtype=float).ravel().tolist(),
    }


def in_a_process(library: str, task: str) -> dict[str, Any]:
    """Return what `measure` does, in a fresh process with one thread."""
    command = [sys.executable, "-m", "docs.benchmarks.comparison", "--one", library, task]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def shown(seconds: float) -> str:
    """Return a time with two digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{seconds * 1e9:.2g} ns"


def table() -> str:
    """Return the figures of what is installed as tables, after the results were compared."""
    parts = []
    installed = [library for library, module in LIBRARIES.items() if find_spec(module)]
    imports: dict[str, list[float]] = {library: [] for library in installed}
    for task, title in TASKS.items():
        found = {library: in_a_process(library, task) for library in installed}
        expected = found["funcdiff"]["result"]
        scale = max(map(abs, expected))
        lines = [
            f"{title[0].upper()}{title[1:]}:",
            "",
            "| library | first call | later calls |",
            "|---|--:|--:|",
        ]
        for library, figures in found.items():
            pairs = zip(figures["result"], expected, strict=True)
            if max(abs(a - b) for a, b in pairs) > 1e-9 * scale:
                raise SystemExit(f"{library} and funcdiff disagree on {task}")
            imports[library].append(figures["import"])
            lines.append(f"| {library} | {shown(figures['first'])} | {shown(figures['later'])} |")
        parts.append("\n".join(lines))
    rows = [f"| {name} | {shown(statistics.median(spent))} |" for name, spent in imports.items()
            if "," not in name]  # fmt: skip
    parts.insert(0, "\n".join(["The import, without NumPy's own:", "", "| library | import |",
                               "|---|--:|", *rows]))  # fmt: skip
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, help="measure one library and task, in this process")
    parser.add_argument("--write", choices=SECTIONS, help=f"write a section of {PAGE.name}")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one)))
        return
    figures = table()
    print(figures)
    if given.write:
        text = PAGE.read_text(encoding="utf-8")
        start, end = f"<!-- {given.write}: begin -->", f"<!-- {given.write}: end -->"
        before, rest = text.split(start)
        after = rest.split(end)[1]
        PAGE.write_text(f"{before}{start}\n\n{figures}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
