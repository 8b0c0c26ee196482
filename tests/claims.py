"""Tables of claims: a sentence, and one row or several of what is called and what comes of it.

A table is one test, for what surrounds a test costs more than a row; it names the rows that fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest


def claims(check: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """Turn a check of one row into what makes a test of a table."""

    def of_table(table: Mapping[str, Any], **options: Any) -> Callable[[], None]:
        def run() -> None:
            failures = []
            for sentence, rows in table.items():
                for row in rows if isinstance(rows, list) else [rows]:
                    try:
                        check(*row, **options)
                    except (Exception, pytest.fail.Exception) as failure:
                        failure.add_note(f"in the row {sentence!r}")
                        failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} rows of the table", failures)

        return run

    return of_table


@claims
def refused(error: Any, words: str | None, call: Callable[[], Any]) -> None:
    """Require that a call raises an error with words that match."""
    with pytest.raises(error, match=words):
        call()


@claims
def alike(call: Callable[[], Any], expected: Any, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Require that a call gives what is expected, or what another call gives, exactly or nearly."""
    require_alike(call(), expected() if callable(expected) else expected, rtol, atol)


def require_alike(found: Any, expected: Any, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Require that containers are the same, and arrays within them, exactly or nearly."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, tuple | list) and not isinstance(found, np.ndarray):
        assert isinstance(found, type(expected))
        for a, b in zip(found, expected, strict=True):
            require_alike(a, b, rtol, atol)
    elif isinstance(expected, str | type | None):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
        assert np.shape(found) == np.shape(expected)
