"""A few of the trials of ``kill_trials.py``, which see for more: each window of a save, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow  # tests/cli/test_train.py kills, too, at fewer moments
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the trials fork")
def test_killed_commands_end_as_undisturbed_ones_do() -> None:
    script = Path(__file__).with_name("kill_trials.py")
    words = [sys.executable, str(script), "--quick", "--trials", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "13 trials at named moments and 2 at random ones" in done.stdout
