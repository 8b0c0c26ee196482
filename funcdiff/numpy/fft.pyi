from numpy.fft import *  # noqa: F403
