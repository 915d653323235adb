"""The documentation site: `make docs` builds it into docs/_build/html, with no warning and nothing from other hosts."""

import sys
from importlib import metadata
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parents[1])]

project = "bap-lp"
author = "The bap-lp developers"
project_copyright = author
release = metadata.version("bap-lp")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "offline", "commands"]
exclude_patterns = ["_build", "_ext"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "bap-lp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the sections of a docstring say what each parameter is
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
add_module_names = False
maximum_signature_line_length = 90
