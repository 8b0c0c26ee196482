"""Imports Dask, or says how it is installed."""

from __future__ import annotations

from funcdiff.errors import MissingDependencyError, user_location

try:
    import dask.array as da
    from dask import delayed, optimize
    from dask.base import get_scheduler
    from dask.callbacks import Callback
    from dask.core import flatten
    from dask.highlevelgraph import HighLevelGraph
except ImportError as error:
    raise MissingDependencyError(
        f"fd.dask computes with Dask's arrays, and Dask is not installed ({error}), at "
        f'{user_location()}. Install it: python -m pip install "funcdiff[dask]"'
    ) from error

__all__ = [
    "Callback",
    "HighLevelGraph",
    "da",
    "delayed",
    "flatten",
    "get_scheduler",
    "optimize",
]
