"""``scipy.stats`` for traced arrays: ``from funcdiff.scipy import stats``."""

import funcdiff.scipy.stats.density
import funcdiff.scipy.stats.distributions
import funcdiff.scipy.stats.multivariate
import funcdiff.scipy.stats.statistics  # noqa: F401
from funcdiff.scipy.covered import namespace
from funcdiff.scipy.stats.refusals import REFUSED

__getattr__, __dir__ = namespace("scipy.stats", REFUSED)
