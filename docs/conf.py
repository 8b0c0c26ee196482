"""Configuration of Sphinx: ``sphinx-build -W -b html docs OUT``."""

import sys
from functools import partial
from pathlib import Path

from sphinx_gallery.scrapers import matplotlib_scraper

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "examples")]

from docs import inventories  # noqa: E402

INVENTORIES = HERE / "_build" / "inventories"
inventories.write_inventories(INVENTORIES)

project = "funcdiff"
author = "the funcdiff authors"
copyright = "the funcdiff authors"
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # copies MathJax beside the pages, which need no other host
    "sphinx_copybutton",
    "matplotlib.sphinxext.plot_directive",  # pictures by functions of the examples
    "sphinx_gallery.gen_gallery",
    "docs.browser",  # examples that run in the browser
    "docs.pages",  # a page for every public name
    "docs.pictures",
]
exclude_patterns = ["_build", "benchmarks", "paper"]
default_role = "py:obj"

html_theme = "furo"
html_title = "funcdiff"
html_short_title = "funcdiff"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_js_files = ["access.js"]
html_search_scorer = str(HERE / "_static" / "scorer.js")
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#8ab4f8", "color-brand-content": "#8ab4f8"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

autodoc_typehints = "none"  # the docstrings give shapes and dtypes
autodoc_member_order = "bysource"
maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False  # the type of a result stands before what is said of it

# The inventories are made from the packages that are installed: no network is needed.
intersphinx_mapping = {
    "numpy": (inventories.NUMPY, str(INVENTORIES / "numpy.inv")),
    "scipy": (inventories.SCIPY, str(INVENTORIES / "scipy.inv")),
}

plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False

# The pages of the gallery are run; one that fails ends the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": (partial(matplotlib_scraper, format="svg"),),  # the style sheet darkens SVG
    "default_thumb_file": str(HERE / "_static" / "favicon.svg"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,  # how long a page took differs from build to build
    "capture_repr": (),  # what is printed is shown, not what the last line returns
    "remove_config_comments": True,
    "plot_gallery": "True",
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
