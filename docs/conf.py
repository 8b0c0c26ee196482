"""Configuration of Sphinx: ``sphinx-build -W -b html docs OUT``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

project = "funcdiff"
author = "the funcdiff authors"
copyright = "the funcdiff authors"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "funcdiff"
default_role = "py:obj"

autodoc_typehints = "none"  # the docstrings give shapes and dtypes
autodoc_member_order = "bysource"
napoleon_google_docstring = False
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
