"""Hypothesis draws new examples on every run at a desk, and the same ones in continuous integration."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
