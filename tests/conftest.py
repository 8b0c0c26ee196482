"""Hypothesis profiles: a quick, reproducible one by default and a thorough one for slow runs."""

from hypothesis import settings

settings.register_profile(
    "quick", deadline=None, derandomize=True, max_examples=50, print_blob=True
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=1000)
settings.load_profile("quick")
