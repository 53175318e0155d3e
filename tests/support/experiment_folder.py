"""Copies of a paper's folder with other claims."""

import shutil

OTHER_CLAIMS = shutil.ignore_patterns("deviations.toml", "coverage.toml")
"""Leaves out deviations and coverage, for `shutil.copytree`.

They name claims of the paper, which a copy with other claims lacks.
"""
