"""The error of a checkout without the extension module, which nothing replaces."""

import subprocess
import sys

from tests.support.source_tree import ROOT

REPOSITORY = ROOT
HIDE = "import sys; sys.modules['sojourn._sojourn'] = None; "


def test_without_the_extension_the_tests_stop_with_one_line_that_says_how_to_build_it():
    code = HIDE + "import pytest; sys.exit(pytest.main(['--collect-only', 'tests/compare/test_stats.py']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip().splitlines()
    assert done.returncode == 4
    assert len(said) == 1
    assert "make setup" in said[0]
