"""``scipy.stats`` for traced arrays: ``from funcdiff.scipy import stats``."""

from importlib import import_module

from funcdiff.scipy.covered import namespace
from funcdiff.scipy.places import requirements_of
from funcdiff.scipy.stats import covered_distributions, multivariate, sample_statistics
from funcdiff.scipy.stats.refusals import REFUSED

__all__ = ["covered_distributions", "multivariate", "sample_statistics"]

with requirements_of("scipy.stats", "gaussian_kde"):
    import_module("funcdiff.scipy.stats.density")

__getattr__, __dir__ = namespace("scipy.stats", REFUSED)
