from numpy.testing import *  # noqa: F403
