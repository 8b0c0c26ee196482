"""Logistic regression on more data than one wants in memory, with Dask and SciPy's L-BFGS-B.

The data are made chunk by chunk, as others are read from files: a chunk exists only while its part
of the gradient is computed.  Run it with

    python examples/large_regression.py                              # 34 MB, in threads
    python examples/large_regression.py --rows 100000000             # 17 GB, in the same memory
    python examples/large_regression.py --workers 4                  # processes, dashboard
    python examples/large_regression.py --scheduler tcp://host:8786  # on a cluster

It needs Dask: ``python -m pip install -e ".[examples,dask]"``.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from tqdm import tqdm

import funcdiff as fd

try:
    import dask.array as da
    from dask.distributed import Client, LocalCluster
except ImportError as error:
    sys.exit(f'This example needs Dask ({error}): python -m pip install -e ".[examples,dask]"')

Array: TypeAlias = NDArray[np.float64]

FEATURES = 20
CHUNK = 20_000
PENALTY = 1e-6
STEPS = 100


class Fit(NamedTuple):
    """Weights with the bias behind them, and how they were found."""

    weights: Array
    loss: float
    slope: float
    evaluations: int


def mean_loss(w: Array, table: Array) -> Any:
    """Return the mean logistic loss of rows of features with a label, -1 or 1, behind them."""
    margins = table[:, -1] * (table[:, :-1] @ w[:-1] + w[-1])
    return np.mean(np.logaddexp(0.0, -margins))


def true_weights() -> Array:
    """Return the weights and the bias by which labels are drawn."""
    return np.append(np.cos(np.arange(FEATURES)), 0.5)


def made_up_rows(count: int, rng: np.random.Generator) -> Array:
    """Return features with labels drawn by `true_weights`."""
    features = rng.standard_normal((count, FEATURES))
    odds = features @ true_weights()[:-1] + true_weights()[-1]
    labels = np.where(rng.random(count) < 1 / (1 + np.exp(-odds)), 1.0, -1.0)
    return np.column_stack([features, labels])


def made_up_table(rows: int, chunk: int) -> Any:
    """Return a Dask array of rows, each chunk of which is the same whenever it is made."""

    def one_chunk(block_info: Any = None) -> Array:
        here = block_info[None]
        rng = np.random.default_rng(here["chunk-location"][0])
        return made_up_rows(here["chunk-shape"][0], rng)

    chunks = da.core.normalize_chunks((chunk, FEATURES + 1), (rows, FEATURES + 1))
    return da.map_blocks(one_chunk, chunks=chunks, dtype=float, meta=np.empty((0, 0)))


def fit(table: Any) -> Fit:
    """Minimize the loss of a table behind a progress bar of steps."""
    loss_and_slope = fd.dask.value_and_grad(mean_loss, reduce="mean")

    def penalized(w: Array) -> tuple[float, Array]:
        value, slope = loss_and_slope(w, table)
        return value + PENALTY / 2 * w @ w, slope + PENALTY * w

    with tqdm(total=STEPS, desc="training", unit="step") as bar:

        def show(intermediate_result: Any) -> None:
            bar.set_postfix_str(f"loss {intermediate_result.fun:.6f}")
            bar.update()

        found = minimize(
            penalized, np.zeros(FEATURES + 1), jac=True, method="L-BFGS-B", callback=show,
            options={"maxiter": STEPS},
        )  # fmt: skip
    return Fit(found.x, found.fun, float(np.abs(found.jac).max()), found.nfev)


def accuracy(w: Array, table: Array) -> float:
    """Return the share of rows whose label is the more likely one."""
    return float(np.mean(np.sign(table[:, :-1] @ w[:-1] + w[-1]) == table[:, -1]))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train logistic regression chunk by chunk.")
    parser.add_argument("--rows", type=int, default=200_000, help="examples (200000)")
    parser.add_argument("--chunk", type=int, default=CHUNK, help=f"rows in a chunk ({CHUNK})")
    parser.add_argument("--workers", type=int, default=0, help="processes; 0: threads (0)")
    parser.add_argument("--scheduler", help="address of a cluster that runs")
    options = parser.parse_args()
    if options.rows < 1 or options.chunk < 1 or options.workers < 0:
        parser.error("--rows and --chunk must be at least 1, --workers at least 0")
    return options


def main() -> int:
    """Return 0 if the weights are found and predict about as well as the true ones, else 1."""
    options, started = parse_options(), time.perf_counter()
    table = made_up_table(options.rows, options.chunk)
    print(f"{table.nbytes / 1e9:.2f} GB in {table.numblocks[0]} chunks")
    with ExitStack() as stack:
        if options.workers:
            workers = LocalCluster(n_workers=options.workers, threads_per_worker=1)
            options.scheduler = stack.enter_context(workers)
        if options.scheduler:
            client = stack.enter_context(Client(options.scheduler))
            print(f"Dashboard: {client.dashboard_link}")
        found = fit(table)
    unseen = made_up_rows(CHUNK, np.random.default_rng((1, 2)))
    ours, best = accuracy(found.weights, unseen), accuracy(true_weights(), unseen)
    print(f"Loss {found.loss:.6f}, largest slope {found.slope:.1e}, {found.evaluations} passes")
    print(f"Accuracy on rows not seen: {ours:.2%}; of the true weights {best:.2%}")
    print(f"Done in {time.perf_counter() - started:.1f} s")
    return 0 if found.slope < 1e-3 and ours > best - 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
