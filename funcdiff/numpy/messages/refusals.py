"""NumPy's public names that traced arrays refuse, each with the reason and a replacement.

A name that is neither covered nor here is missing by mistake, and a test says so.  Names that need
no rule, because no traced array can get into them, have a table of their own, `untouched`.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Refusal(NamedTuple):
    """Names that are refused for one reason."""

    names: tuple[str, ...]  # as users write them, ``np.save``; ``np.ma.*`` is all of a module
    reason: str  # a sentence: why a traced array cannot be taken
    cure: str  # a sentence: what to write instead


def _group(names: str, reason: str, cure: str, prefix: str = "np.") -> Refusal:
    return Refusal(tuple(f"{prefix}{name}" for name in names.split()), reason, cure)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OUTSIDE: Final = "Call it on the result, outside the function that is differentiated."
_STOPPED: Final = (
    "Call it outside the function, or on np.asarray(fd.stop_gradient(x)) where no derivative "
    "is wanted."
)

functions: Final[tuple[Refusal, ...]] = (
    _group(
        "save savez savez_compressed savetxt",
        "It writes to a file, and a traced array lives only while its function is being traced.",
        _OUTSIDE,
    ),
    _group(
        "array2string array_repr array_str",
        "It makes text of an array.",
        "print(x), str(x) and f'{x}' show the values of a traced array.",
    ),
    _group(
        "as_strided",
        "It makes views of memory; a traced array stands for a value without one.",
        "Use np.lib.stride_tricks.sliding_window_view, np.broadcast_to, or slices.",
        "np.lib.stride_tricks.",
    ),
    _group(
        "array_utils.byte_bounds Arrayterator",
        "It reads the memory of an array; a traced array stands for a value without one.",
        "Index with slices instead.",
        "np.lib.",
    ),
    _group(
        "asmatrix bmat matrix memmap recarray",
        "It makes a subclass of ndarray; traced arrays have no subclasses.",
        "Use two-dimensional arrays with @, and np.block in place of np.bmat.",
    ),
    _group(
        "broadcast flatiter ndenumerate nditer nested_iters",
        "It walks over the memory of an array, an element at a time.",
        "Use array operations, np.broadcast_arrays, or `for index in np.ndindex(x.shape)`.",
    ),
    _group(
        "frompyfunc vectorize",
        "It calls a Python function on one element after another, as an ordinary number.",
        "Write the function with NumPy functions of whole arrays, or use fd.vmap(f)(xs).",
    ),
    _group("asarray_chkfinite", "NumPy hands it to nobody.", "Use fnp.asarray_chkfinite(x)."),
    _group(
        "kaiser",
        "NumPy turns beta into an ordinary number before anything is computed.",
        "Write np.i0(beta * np.sqrt(1 - u**2)) / np.i0(beta) with u = np.linspace(-1, 1, n).",
    ),
    _group(
        "packbits unpackbits",
        "It rearranges the bits of integers, which have no derivative.",
        _STOPPED,
    ),
    _group(
        "min_scalar_type", "Its answer depends on the value.", "Use x.dtype or np.result_type(x)."
    ),
    _group(
        "busday_count busday_offset datetime_as_string is_busday isnat",
        "It is about dates; traced arrays hold booleans and numbers.",
        "Compute with dates outside the function, and pass numbers in.",
    ),
    _group(
        "char.* strings.* _core.strings.*",
        "It is about text; traced arrays hold booleans and numbers.",
        "Work on text outside the function, and pass numbers in.",
    ),
    _group(
        "ma.*",
        "Masked arrays are a subclass of ndarray; traced arrays have no subclasses.",
        "Use np.where(mask, values, x), where= of the reductions, or the nan-functions.",
    ),
    _group(
        "rec.*",
        "Records are made of fields of several dtypes; traced arrays have one dtype.",
        "Use a dict or a dataclass of arrays.",
    ),
    _group(
        "polynomial.*",
        "These functions turn their coefficients into ordinary arrays.",
        "Use np.polyval and its relatives (highest power first), or np.vander(x, n) @ c.",
    ),
    _group(
        "random.*",
        "A generator takes its parameters as ordinary numbers.",
        "Draw standard numbers and transform them: mean + scale * rng.standard_normal(n).",
    ),
    _group(
        "lib.format.* lib.npyio.* ctypeslib.*", "It is about files or foreign memory.", _OUTSIDE
    ),
    _group("trapz", "NumPy has deprecated it.", "Use np.trapezoid."),
    _group("in1d", "NumPy has deprecated it.", "Use np.isin."),
)
"""Functions and classes."""

attributes: Final[tuple[Refusal, ...]] = (
    _group(
        "base byteswap ctypes data getfield newbyteorder setfield setflags strides view",
        "It is about the memory of an array; a traced array stands for a value without one.",
        "Use x.astype(dtype) to convert, x.reshape(shape) or x[index] to rearrange.",
        "ndarray.",
    ),
    _group(
        "dump dumps tobytes tofile tostring",
        "It takes the values out of the program, and their derivative would be lost.",
        _STOPPED,
        "ndarray.",
    ),
    _group(
        "resize",
        "It changes the size of an array in place.",
        "Use x = np.resize(x, shape), or np.concatenate or np.pad.",
        "ndarray.",
    ),
    _group("itemset", "NumPy has removed it.", "Use x[index] = value.", "ndarray."),
    _group("ptp", "NumPy has removed it.", "Use np.ptp(x).", "ndarray."),
)
"""Methods and attributes of arrays."""

_BY_NAME: Final = {name: refusal for refusal in (*functions, *attributes) for name in refusal.names}


def refusal_of(name: str) -> Refusal | None:
    """Return why a name (``np.save``, ``ndarray.view``), or its module, is refused, if it is."""
    found = _BY_NAME.get(name)
    module = name
    while found is None and "." in module:
        module = module.rpartition(".")[0]
        found = _BY_NAME.get(f"{module}.*")
    return found


untouched: Final = _names(
    """
    False_ True_ ScalarType sctypeDict typecodes little_endian newaxis
    dtype finfo iinfo ndarray ufunc busdaycalendar
    isdtype isfortran isscalar issubdtype iterable mintypecode promote_types typename
    broadcast_shapes diag_indices tril_indices triu_indices mask_indices indices
    fromfunction ndindex index_exp s_ mgrid ogrid
    bartlett blackman hamming hanning
    base_repr binary_repr format_float_positional format_float_scientific
    datetime_data from_dlpack frombuffer fromfile fromregex fromstring genfromtxt load loadtxt
    errstate geterr geterrcall seterr seterrcall getbufsize setbufsize
    get_printoptions printoptions set_printoptions
    get_include info show_config show_runtime test
    poly1d row_stack
    lib.NumpyVersion lib.add_docstring lib.add_newdoc lib.tracemalloc_domain lib.test
    lib.array_utils.normalize_axis_index lib.array_utils.normalize_axis_tuple
    lib.introspect.opt_func_info lib.mixins.NDArrayOperatorsMixin
    linalg.test linalg.LinAlgError fft.test fft.fftfreq fft.rfftfreq
    """
)
"""Names of NumPy's that need no rule: they take no array, ask only for types or flags, or, like
``row_stack`` and ``poly1d``, call covered functions."""
