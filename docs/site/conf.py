"""How Sphinx makes the site of the pages in build/pages, which scripts/site.py writes: see `make docs`."""

import sojourn

project = "Sojourn"
author = "The Sojourn maintainers"
version = release = sojourn.__version__
extensions = ["myst_parser"]
myst_heading_anchors = 6
myst_enable_extensions = ["attrs_inline", "dollarmath"]
nitpicky = True
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "Sojourn"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_extra_path = ["../../build/pages/files"]
highlight_language = "text"
