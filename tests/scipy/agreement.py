"""What is asked of every function of `funcdiff.scipy`: SciPy's values, and all derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import funcdiff as fd
from funcdiff.testing import check_grads
from tests.numpy.agreement import default

Call = Callable[..., Any]
"""``call(s, *arrays)``, with `s` a module of SciPy's or ours."""


def assert_agrees(
    module: str,
    call: Call,
    *arrays: Any,
    order: int = 2,
    rtol: float = 1e-12,
    compiled: bool = True,
    batched: bool = True,
    same_bits: bool = True,
) -> None:
    """Assert that a call has SciPy's values everywhere, and derivatives in both modes.

    Plain values are SciPy's to the last bit, or up to `rtol` where its own calls differ, as sums
    of BLAS do with where arrays are in memory.

    Parameters
    ----------
    module
        ``"scipy.linalg"``, say.
    call
        Returns arrays and containers of them; what is no array is compared as it is.
    *arrays
        At which it is differentiated: floating or complex.
    order
        Up to which derivatives are compared with differences of SciPy's own values; by default
        never beyond the first, and where slow tests run in both modes to first order and in
        reverse mode beyond.
    rtol
        How far traced values may be from SciPy's, relative to the largest.
    compiled, batched
        Whether `jit` and `vmap` are tried, too, nine calls of the first.
    same_bits
        Whether plain values are asked to be SciPy's to the last bit; not of iterations in which
        last bits depend on memory inside of SciPy.
    """
    plain = partial(call, import_module(module))
    ours = partial(call, import_module(module.replace("scipy", "funcdiff.scipy", 1)))
    expected = plain(*arrays)
    found = ours(*arrays)
    steady = same_bits and _is_steady(plain, arrays, expected, found)
    _assert_equal(found, expected, 0.0 if steady else rtol)
    _assert_equal(fd.vjp(ours, *arrays)[0], expected, rtol)
    _assert_equal(fd.jvp(ours, arrays, arrays)[0], expected, rtol)
    deep = order if default.order > 1 else 1
    check_grads(ours, arrays, order=1, modes=("forward",))
    check_grads(ours, arrays, order=deep, modes=("reverse",))
    if compiled:
        jitted = fd.jit(ours)
        for _ in range(9):
            _assert_equal(jitted(*arrays), expected, rtol)
    if batched:
        stacked = [np.stack([x, x, x]) for x in arrays]
        wanted_leaves = list(_leaves(expected))
        kept = [k for k, leaf in enumerate(wanted_leaves) if _is_array(leaf)]

        def arrays_of(*xs: Any) -> list[Any]:
            found = list(_leaves(ours(*xs)))
            return [found[k] for k in kept]

        for one, wanted in zip(
            fd.vmap(arrays_of)(*stacked), (wanted_leaves[k] for k in kept), strict=True
        ):
            np.testing.assert_allclose(one[1], wanted, rtol=rtol, atol=_atol(wanted, rtol))


def _is_steady(plain: Call, arrays: Sequence[Any], expected: Any, found: Any) -> bool:
    """Return whether SciPy's own calls have the same bits, if it matters."""
    calls = (plain(*(_moved(x, 8 * k) for x in arrays)) for k in range(8))
    return _are_equal(found, expected) or all(_are_equal(again, expected) for again in calls)


def _moved(x: Any, offset: int) -> Any:
    """Return an array with the same content that begins elsewhere in memory."""
    a = np.asarray(x)
    buffer = np.empty(a.nbytes + 64, np.uint8)[offset : offset + a.nbytes]
    copy = buffer.view(a.dtype).reshape(a.shape)
    copy[...] = a
    return copy


def _are_equal(value: Any, wanted: Any) -> bool:
    try:
        _assert_equal(value, wanted, 0.0)
    except AssertionError:
        return False
    return True


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.number | float | complex) or hasattr(x, "dtype")


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    else:
        yield value


def _assert_equal(found: Any, expected: Any, rtol: float) -> None:
    ours, scipys = list(_leaves(found)), list(_leaves(expected))
    assert len(ours) == len(scipys)
    for value, wanted in zip(ours, scipys, strict=True):
        if not isinstance(wanted, np.ndarray | np.generic | float | complex):
            assert value == wanted
            continue
        assert np.shape(value) == np.shape(wanted)
        assert np.asarray(value).dtype == np.asarray(wanted).dtype
        if rtol == 0:
            np.testing.assert_array_equal(value, wanted)
        else:
            np.testing.assert_allclose(
                value, np.asarray(wanted), rtol=rtol, atol=_atol(wanted, rtol)
            )


def _atol(wanted: Any, rtol: float) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finite = np.abs(np.asarray(wanted)[np.isfinite(wanted)])
    return float(rtol * finite.max(initial=0.0))
