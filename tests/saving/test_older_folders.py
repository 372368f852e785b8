"""Folders saved by version 0.1.0 (November 2026), one of each system, say what they said then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adasent.errors import AdaSentWarning
from adasent.estimators.registry import load_estimator

FOLDERS = Path(__file__).parent / "folders"
SAID = json.loads((FOLDERS / "expected.json").read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(SAID["probabilities"]))
def test_an_older_folder_predicts_as_it_did(name: str) -> None:
    model = load_estimator(FOLDERS / name)
    assert model.classes_.tolist() == SAID["classes"]
    with pytest.warns(AdaSentWarning, match="of 9 texts: 1 without a word"):
        found = model.predict_proba(SAID["texts"])
    np.testing.assert_allclose(found, SAID["probabilities"][name], rtol=0, atol=1e-6)
