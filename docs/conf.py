"""Sphinx configuration: ``sphinx-build -W docs docs/_build``."""

from skml_odm import __version__

project = "skml-odm"
author = "the skml-odm developers"
release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    # MathJax as part of the site: formulas need no network
    "sphinx-mathjax-offline",
    "numpydoc",
]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Margin-distribution learning for multi-label data"}
numpydoc_show_class_members = False
