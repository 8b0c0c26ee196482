"""The table of SciPy's private names that are used here, by version.

Names are those of the newest version.  What an installed SciPy does not have disables the functions
that need it, and no others: they say so when something traced is given to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from funcdiff.errors import MissingDependencyError, user_location

PLACES: Final[dict[str, str]] = {
    "scipy._external.array_api_extra": "apply_where at",
    "scipy._external.array_api_extra._lib._at": "at",
    "scipy._lib._util": "_contains_nan check_random_state",
    "scipy.fft._basic_backend": "fft hfftn",
    "scipy.fft._duccfft.helper": "_asfarray _datacopied",
    "scipy.fft._duccfft.pyduccfft": "c2c c2r dct dst r2c",
    "scipy.fft._realtransforms_backend": "dct idstn",
    "scipy.integrate._bvp": "BVPResult TERMINATION_MESSAGES",
    "scipy.integrate._ivp.ivp": "OdeResult",
    "scipy.integrate._ivp.radau": "C P",
    "scipy.integrate._quadrature": "_cached_roots_legendre",
    "scipy.interpolate._bary_rational": "FloaterHormannInterpolator _BarycentricRational",
    "scipy.interpolate._bsplines": (
        "_BSpline _handle_lhs_derivatives _lsq_solve_qr get_lapack_funcs"
    ),
    "scipy.interpolate._cubic": "Akima1DInterpolator PchipInterpolator",
    "scipy.interpolate._dierckx": (
        "_coloc _norm_eq_lsq data_matrix evaluate_all_bspl evaluate_spline find_interval"
    ),
    "scipy.interpolate._fitpack2": "_curfit_messages",
    "scipy.interpolate._fitpack_impl": "splder",
    "scipy.interpolate._fitpack_repro": "_make_splrep_impl",
    "scipy.interpolate._interpnd": "_ndim_coords_from_arrays",
    "scipy.interpolate._interpolate": "_BPoly _PPoly",
    "scipy.interpolate._polyint": "BarycentricInterpolator",
    "scipy.interpolate._ppoly": "evaluate evaluate_bernstein evaluate_nd fix_continuity",
    "scipy.interpolate._rbfinterp_np": "_build_and_solve_system compute_interpolation",
    "scipy.interpolate._rgi_cython": "evaluate_linear_2d find_indices",
    "scipy.ndimage._filters": "_complex_via_real_components _gaussian_kernel1d",
    "scipy.ndimage._measurements": "_select _stats",
    "scipy.ndimage._nd_image": (
        "correlate correlate1d fourier_filter fourier_shift geometric_transform min_or_max_filter "
        "min_or_max_filter1d rank_filter spline_filter1d uniform_filter1d zoom_shift"
    ),
    "scipy.ndimage._rank_filter_1d": "rank_filter",
    "scipy.signal._filter_design": "_resize",
    "scipy.signal._peak_finding_utils": (
        "_local_maxima_1d _peak_prominences _peak_widths _select_by_peak_distance"
    ),
    "scipy.signal._polyutils": "polyroots",
    "scipy.signal._signaltools": "sosfilt unique_roots",
    "scipy.signal._sigtools": "_convolve2d _correlateND",
    "scipy.signal._spectral_py": "_fft_helper",
    "scipy.signal._waveforms": "_chirp_phase",
    "scipy.signal.windows._windows": "chebwin",
    "scipy.spatial.transform._rigid_transform": "cython_backend select_backend xp_backend",
    "scipy.spatial.transform._rotation": "cython_backend select_backend xp_backend",
    "scipy.spatial.transform._rotation_xp": (
        "_from_matrix_orthogonal _quat_canonical as_rotvec from_matrix from_rotvec magnitude pow "
        "reduce"
    ),
    "scipy.stats._axis_nan_policy": "_axis_nan_policy_factory _broadcast_shapes _contains_nan",
    "scipy.stats._continuous_distns": "_lazyselect _log_gauss_mass",
    "scipy.stats._distn_infrastructure": (
        "_expect rv_continuous rv_continuous_frozen rv_discrete rv_discrete_frozen"
    ),
    "scipy.stats._kde": (
        "check_random_state gaussian_kde gaussian_kernel_estimate gaussian_kernel_estimate_log"
    ),
    "scipy.stats._morestats": (
        "_boxcox_llf _yeojohnson_transform boxcox_normmax yeojohnson_normmax"
    ),
    "scipy.stats._multivariate": (
        "_PSD _eigvalsh_to_eps check_random_state invwishart_gen multinomial_gen "
        "multivariate_normal_gen multivariate_t_gen wishart_gen"
    ),
    "scipy.stats._stats_py": (
        "PearsonRResult _SimpleStudentT _get_pvalue _pack_LinregressResult "
        "_unpack_LinregressResult _xp_mean describe"
    ),
}
"""Modules -> what is used of them, in all versions that are promised: 1.17 and 1.18."""

EARLIER: Final[dict[str, str]] = {
    "scipy._external.array_api_extra": "scipy._lib.array_api_extra",
    "scipy._external.array_api_extra._lib._at": "scipy._lib.array_api_extra._lib._at",
    "scipy.fft._duccfft.helper": "scipy.fft._pocketfft.helper",
    "scipy.fft._duccfft.pyduccfft": "scipy.fft._pocketfft.pypocketfft",
    "scipy.interpolate._bsplines._BSpline": "scipy.interpolate._bsplines.BSpline",
    "scipy.interpolate._interpolate._BPoly": "scipy.interpolate._interpolate.BPoly",
    "scipy.interpolate._interpolate._PPoly": "scipy.interpolate._interpolate.PPoly",
}
"""What moved with SciPy 1.18: where it is -> where it was, modules and names in them."""

ONLY_FROM: Final[dict[tuple[int, int], dict[str, str]]] = {
    (1, 18): {
        "scipy.interpolate._bsplines": "_get_xp_bspline_cls",
        "scipy.interpolate._fitpack": (
            "bispeu bispev curfit dblint fpchec insert parcur parder pardeu pardtc percur regrid "
            "spalde spgrid sphere splder splev splint sproot surfit surfit_lsq surfit_smth"
        ),
        "scipy.interpolate._fitpack2": "_curfit _regrid_smth",
        "scipy.interpolate._interpolate": "_get_xp_bpoly_cls _get_xp_ppoly_cls",
    }
}
"""Version -> what there is from it on, and was written otherwise before."""

ONLY_BEFORE: Final[dict[tuple[int, int], dict[str, str]]] = {
    (1, 18): {
        "scipy.interpolate._dfitpack": (
            "bispeu bispev curfit dblint fpchec fpcurf0 fpcurf1 fpcurfm1 parder pardeu pardtc "
            "percur regrid_smth regrid_smth_spher spalde spherfit_lsq spherfit_smth splder splev "
            "splint sproot surfit_lsq surfit_smth"
        ),
        "scipy.stats._stats_mstats_common": "siegelslopes_pythran",
    }
}
"""Version -> what there was before it, and is written otherwise from it on."""

missing: Final[dict[tuple[str, str], MissingDependencyError]] = {}
"""(Public module, name) of a function that is disabled -> why."""


def version() -> str:
    """Return that of the SciPy that is installed."""
    return str(import_module("scipy").__version__)


def place(module: str, name: str = "", *, user: str = "") -> Any:
    """Return a module of SciPy's, or what is there under a name, also where it was earlier.

    `module`, `name`: as the newest version has them.
    `user`: the function that needs it, if that is known.

    Raises
    ------
    MissingDependencyError
        If SciPy is not installed, or this version of it does not have it.
    """
    whole = f"{module}.{name}" if name else module
    before = EARLIER.get(whole, "").rpartition(".") if name else ("", "", "")
    for home, wanted in ((module, name), (EARLIER.get(module), name), (before[0], before[2])):
        found = _look(home, wanted) if home else None
        if found is not None:
            return found
    raise _error(module, name, user)


def _look(module: str, name: str) -> Any:
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or f"{module}.".startswith(f"{error.name}."):
            return None
        raise  # something that SciPy itself needs
    for part in filter(None, name.split(".")):
        found = getattr(found, part, None)
    return found


def _error(module: str, name: str, user: str) -> MissingDependencyError:
    public = module.partition("._")[0]
    wanted = user or public
    if _look(public, "") is None:
        return MissingDependencyError(
            f"{wanted} needs SciPy, and SciPy is not installed, at {user_location()}. "
            'Install it: python -m pip install "funcdiff[scipy]"'
        )
    what = f"{module}.{name}" if name else module
    return MissingDependencyError(
        f"{wanted} needs {what}, which SciPy {version()} does not have, at {user_location()}. "
        'Install a version that funcdiff knows: python -m pip install --upgrade "funcdiff[scipy]"'
    )


class Private:
    """A private module of SciPy's, whose names are looked for where they are."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name not in PLACES[self._module].split():
            raise AttributeError(name)
        return place(self._module, name)


@contextmanager
def requirements_of(module: str, names: str) -> Iterator[None]:
    """Disable functions of a public module if what they need of SciPy is not there.

    `module`: ``"scipy.stats"``, say.
    `names`: with spaces between.
    """
    try:
        yield
    except MissingDependencyError as error:
        for name in names.split():
            missing[module, name] = error
