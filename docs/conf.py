"""Configuration of the documentation site."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "_ext"), str(DOCS.parent)]

import transferbench  # noqa: E402

project = "transferbench"
author = "The transferbench developers"
release = version = transferbench.__version__

extensions = [
    "myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx_click", "sphinx_copybutton",
    "sphinx_design", "generate", "outputs",
]  # fmt: skip
autodoc_typehints = "none"
numpydoc_show_class_members = False
default_role = "code"
exclude_patterns = ["_build", "_ext", "_outputs", "_templates"]
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types in signatures

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # outputs are kept, see _ext/outputs.py
copybutton_exclude = ".linenos, .gp, .go"

FRAME = "../transferbench/evidence/templates"  # what the site and the pages of results share
templates_path = ["_templates", FRAME]
html_theme = "furo"
html_show_copyright = False
# The header of each page has the name, the search and the links.
html_sidebars = {
    "**": ["sidebar/scroll-start.html", "sidebar/navigation.html", "sidebar/scroll-end.html"]
}
html_title = "transferbench"
html_static_path = ["_static", f"{FRAME}/frame.css"]
html_css_files = ["frame.css", "site.css"]
html_js_files = ["site.js"]
html_copy_source = False
