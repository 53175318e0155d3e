"""Copies of a paper's folder with other claims."""

import shutil

OTHER_CLAIMS = shutil.ignore_patterns("deviations.toml")
"""Leaves out the deviations, for `shutil.copytree`.

Their `chosen_for` names claims of the paper, which a copy with other claims lacks.
"""
