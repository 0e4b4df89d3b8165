"""How the documentation is built: ``sphinx-build -W --keep-going -b html docs OUT``."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "tender-pipeline"
author = "The tender-pipeline developers"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx's name
release = installed("tender-pipeline")

extensions = ["myst_parser", "generated"]
exclude_patterns = ["_build", "_ext", "**.ipynb"]

myst_heading_anchors = 3

html_theme = "furo"
html_title = "tender-pipeline"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c55", "color-brand-content": "#0b5c55"},
    "dark_css_variables": {"color-brand-primary": "#5fc9bd", "color-brand-content": "#5fc9bd"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
