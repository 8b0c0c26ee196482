from numpy.typing import *  # noqa: F403
