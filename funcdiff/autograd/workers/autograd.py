"""Stands for autograd in processes that a program run by ``python -m funcdiff.autograd`` starts.

Its folder is in their path.  Imported there, as ``autograd``, it puts funcdiff in its own place.
"""

import sys
from pathlib import Path

if __name__ == "autograd":
    sys.path.append(str(Path(__file__).parents[3]))  # where funcdiff is, if nowhere else
    from funcdiff.autograd.imports import replace_autograd

    replace_autograd()
