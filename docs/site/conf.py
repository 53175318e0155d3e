"""How Sphinx makes the site of the pages in build/pages, which scripts/site.py writes: see `make docs`."""

import sojourn

project = "Sojourn"
author = "The Sojourn maintainers"
version = release = sojourn.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_heading_anchors = 6
myst_enable_extensions = ["attrs_inline", "dollarmath"]
nitpicky = True
# Types in docstrings are words such as "sequence of float", and not all of them have a page.
nitpick_ignore_regex = [("py:.*", ".*")]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "code"
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "Sojourn"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_theme_options = {"top_of_page_buttons": []}
html_copy_source = False
# Of a block of `$ command` and its output, the button copies the commands.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
html_extra_path = ["../../build/pages/files"]
highlight_language = "text"
