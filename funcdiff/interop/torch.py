"""NumPy code as a function of PyTorch, and functions of PyTorch as operations here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Final

import numpy as np

from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, InputError, not_installed, user_location
from funcdiff.interop.calls import Call, Used, register, take_apart
from funcdiff.interop.numpy_code import NUMPY_CODE
from funcdiff.interop.operation import Calculus, Function, Operation, Types
from funcdiff.pytree.registry import ContainerError
from funcdiff.transforms.jvp import Mask, spread

try:
    import torch
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensorMode,
    )
except ImportError as error:
    raise not_installed(error, "fd.interop.torch needs PyTorch", "funcdiff[torch]") from error


# ---- NumPy code in PyTorch -----------------------------------------------------------------------


__all__ = ["use", "wrap"]


class Wrapped:
    """NumPy code as a function of PyTorch; made by `wrap`."""

    def __init__(self, f: Callable[..., Any], result: Callable[..., Any] | None) -> None:
        update_wrapper(self, f)
        self._function, self._result = f, result

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result, in tensors."""
        xs, parts = take_apart((args, kwargs), lambda leaf: isinstance(leaf, torch.Tensor))
        call = Call(self._function, parts, NUMPY_CODE, self._result)
        return call.rebuild(_apply(call.operation, xs))


def wrap(f: Callable[..., Any], *, result: Callable[..., Any] | None = None) -> Wrapped:
    """Return NumPy code as a function of PyTorch: of its tensors, on the CPU.

    The derivatives are funcdiff's, of every order and in both modes: by ``backward`` with
    ``create_graph``, forward-mode automatic differentiation, and ``torch.func`` with ``grad``,
    ``jvp``, ``vjp``, ``jacfwd``, ``jacrev``, ``hessian`` and ``vmap`` in any order.

    Parameters
    ----------
    f
        Function of arrays and containers of them, written in NumPy.  Tensors among its arguments
        are operands; NumPy's arrays, numbers, strings and flags it gets as they are.
    result
        ``result(*args)`` returns arrays of the shapes and dtypes of the result; it is called with
        zeros.  Needed only where `f` decides by values (``if x > 0``) and nobody has them.

    Returns
    -------
    Wrapped
        The function.  Tensors share their memory with the arrays that `f` gets, which cannot be
        written to.

    Raises
    ------
    OutputError
        If the result is of another structure or of other types than before.
    """
    return Wrapped(f, result)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _apply(operation: Operation, xs: Sequence[Any]) -> Sequence[Any]:
    found: Sequence[Any] = _Bridge.apply(operation, *xs)
    return found


class _Bridge(torch.autograd.Function):  # type: ignore[misc]
    """An operation on tensors, whose derivatives and batches are operations on tensors."""

    @staticmethod
    def forward(operation: Operation, *xs: Any) -> tuple[Any, ...]:
        # what the user's function returns may be memory that it keeps
        ys = operation.run(*map(_numpy, xs))
        device = next((x.device for x in xs), None)
        return tuple(_tensor(y.copy() if operation.is_users else y).to(device) for y in ys)

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Sequence[Any]) -> None:
        operation, *xs = inputs
        ctx.operation = operation
        ctx.save_for_backward(*xs)
        ctx.save_for_forward(*xs)
        ctx.wanted = tuple(map(_is_inexact, output))
        ctx.mark_non_differentiable(*(y for y in output if not _is_inexact(y)))
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> tuple[Any, ...]:
        xs = ctx.saved_tensors
        active = tuple(ctx.needs_input_grad[1:])
        arrived = tuple(ct is not None for ct in cts)
        if not any(arrived):
            return (None, *(None for _ in xs))
        backward = ctx.operation.pullback(active, arrived)
        # gradients are conjugates of cotangents
        found = _apply(backward, [*xs, *(ct.conj() for ct in cts if ct is not None)])
        return (None, *spread([ct.conj().resolve_conj() for ct in found], active))

    @staticmethod
    def jvp(ctx: Any, _: Any, *ts: Any) -> tuple[Any, ...]:
        active = tuple(t is not None for t in ts)
        forward = ctx.operation.pushforward(active, ctx.wanted)
        return tuple(
            spread(
                _apply(forward, [*ctx.saved_tensors, *(t for t in ts if t is not None)]), ctx.wanted
            )
        )

    @staticmethod
    def vmap(info: Any, axes: Sequence[Any], operation: Operation, *xs: Any) -> Any:
        moved = [x if k is None else x.movedim(k, 0) for x, k in zip(xs, axes[1:], strict=True)]
        flags = tuple(k is not None for k in axes[1:])
        ys = _apply(operation.batch(info.batch_size, flags), moved)
        return ys, tuple(0 for _ in ys)


def _numpy(x: Any) -> Any:
    return x.detach().resolve_conj().resolve_neg().cpu().numpy()


def _tensor(x: Any) -> Any:
    """Return an array as a tensor, of the same memory where PyTorch can have that."""
    strange = any(step < 0 for step in x.strides) or not x.flags.writeable
    return torch.as_tensor(x.copy() if strange else x)


def _is_inexact(x: Any) -> bool:
    return bool(x.is_floating_point() or x.is_complex())


def _type_of(x: Any) -> ArrayType:
    return ArrayType(tuple(x.shape), _numpy_dtype(x.dtype))


# ---- tensors as arguments of funcdiff's functions ------------------------------------------------


def _flatten_tensor(x: Any) -> tuple[Any, str]:
    if x.requires_grad or torch._C._functorch.is_functorch_wrapped_tensor(x):
        raise ContainerError(
            "",
            "this tensor is differentiated by PyTorch, which would not see what is done with it. "
            "Bridge the function, f = fd.interop.torch.wrap(fd.grad(f)), or give x.detach()",
        )
    return _numpy(x), str(x.device)


for _kind in (torch.Tensor, torch.nn.Parameter):
    register(_kind, _flatten_tensor, lambda y, device: _tensor(y).to(device))


# ---- functions of PyTorch here -------------------------------------------------------------------


class _TorchCode:
    """What PyTorch knows of functions of tensors."""

    def dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        if dtype in _DTYPES:
            return dtype
        raise InputError(
            f"an array of {dtype} was given to a function of PyTorch, which has no such dtype, at "
            f"{user_location()}. Convert it to float64."
        )

    def is_array(self, leaf: Any) -> bool:
        return isinstance(leaf, torch.Tensor | np.ndarray | np.generic | float | int | complex)

    def run(self, f: Function, xs: Sequence[Any]) -> Sequence[Any]:
        return [_numpy(torch.as_tensor(y)) for y in f(*map(_tensor, xs))]

    def types(self, f: Function, types: Types) -> Types:
        try:
            with FakeTensorMode(allow_non_fake_inputs=True):
                xs = [torch.empty(t.shape, dtype=_DTYPES[t.dtype]) for t in types]
                ys = [torch.as_tensor(y) for y in f(*xs)]
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise ConcreteValueError(str(error)) from error
        return tuple(map(_type_of, ys))

    def push(self, f: Function, xs: Sequence[Any], ts: Sequence[Any]) -> Sequence[Any]:
        return list(torch.func.jvp(_of_tuple(f), tuple(xs), tuple(ts))[1])

    def pull(self, f: Function, xs: Sequence[Any], cts: Sequence[Any]) -> Sequence[Any]:
        """Pull back; PyTorch gives the adjoint, which is the transpose between conjugates."""
        pull = torch.func.vjp(_of_tuple(f), *xs)[1]
        return [ct.conj() for ct in pull(tuple(ct.conj() for ct in cts))]

    def batch(self, f: Function, size: int, flags: Mask, xs: Sequence[Any]) -> Sequence[Any]:
        axes = tuple(0 if flag else None for flag in flags)
        if any(flags):
            return list(torch.vmap(_of_tuple(f), axes)(*xs))
        return [y.expand(size, *y.shape) for y in map(torch.as_tensor, f(*xs))]


def _of_tuple(f: Function) -> Callable[..., tuple[Any, ...]]:
    """Return a function that returns a tuple of tensors, as PyTorch wants it."""
    return lambda *xs: tuple(map(torch.as_tensor, f(*xs)))


_TORCH_CODE: Final[Calculus] = _TorchCode()


def use(g: Callable[..., Any], *, result: Callable[..., Any] | None = None) -> Used:
    """Return a function of PyTorch as an operation here.

    It takes and returns NumPy's arrays, and is differentiated by ``torch.func``, to every order, in
    both modes and batches, wherever funcdiff differentiates, batches or compiles what calls it.

    Parameters
    ----------
    g
        Pure function of tensors and containers of them.  NumPy's arrays among its arguments become
        tensors; numbers of Python's, strings and flags it gets as they are.
    result
        ``result(*args)`` returns NumPy arrays of the shapes and dtypes of the result; it is called
        with zeros.  Needed only where `g` decides by values that are not there, as inside `scan`.

    Returns
    -------
    Used
        The function of NumPy's arrays.
    """
    return Used(g, _TORCH_CODE, result)


_DTYPES: Final[dict[np.dtype[Any], Any]] = {
    np.dtype(kind): torch.from_numpy(np.empty(0, kind)).dtype for kind in ("?", *"bhilBHILefdFD")
}
"""PyTorch's dtypes by NumPy's."""


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    for ours, theirs in _DTYPES.items():
        if theirs == dtype:
            return ours
    raise InputError(
        f"a tensor of {dtype} was given at {user_location()}, which NumPy does not have. Convert "
        "it to torch.float32."
    )
