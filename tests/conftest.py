"""Hypothesis profiles: a quick, reproducible one by default and a thorough one for slow runs."""

import gc

from hypothesis import settings

settings.register_profile(
    "quick", deadline=None, derandomize=True, max_examples=50, print_blob=True
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=1000)
settings.load_profile("quick")

# tens of thousands of tests keep many objects: looking through them all less often saves a third
gc.set_threshold(50_000, 20, 50)
