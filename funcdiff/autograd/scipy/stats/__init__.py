"""``autograd.scipy.stats``: `funcdiff.scipy.stats`, with modules for distributions."""

import sys
from functools import partial
from types import ModuleType

from funcdiff.autograd.names import attributes
from funcdiff.scipy import stats

for _name in ("beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"):
    _module = ModuleType(f"{__name__}.{_name}", f"The distribution ``scipy.stats.{_name}``.")
    vars(_module)["__getattr__"] = partial(getattr, getattr(stats, _name))
    globals()[_name] = sys.modules[_module.__name__] = _module

__getattr__, __dir__ = attributes(__name__, stats)
