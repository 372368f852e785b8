"""onnxruntime-web says what ONNX Runtime says; skipped where node does not find it.

npm install --prefix FOLDER onnxruntime-web
NODE_PATH=FOLDER/node_modules python -m pytest tests/export/test_onnx_web.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.onnx_predict import pad
from onnx_cases import TEXTS, TOLERANCE, Exported

SCRIPT = Path(__file__).with_name("onnx_web.cjs")


@pytest.fixture(scope="module", autouse=True)
def onnxruntime_web() -> None:
    """Node, and the package in a folder that NODE_PATH names."""
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    command = ["node", "-e", "require.resolve('onnxruntime-web')"]
    if subprocess.run(command, cwd=SCRIPT.parent, capture_output=True, check=False).returncode:
        pytest.skip("node finds no onnxruntime-web; NODE_PATH can name where it is installed")


#: Every kind of operator.
SETTINGS: list[dict[str, Any]] = [
    {"hidden_size": 6, "gate_groups": 6, "pooling": "mean"},
    {"activation": "relu", "local_gate": "mlp", "level_gate": "mlp", "pooling": "max"},
    {"multilabel": True, "max_height": 3, "level_norm": False, "n_fixed": 0, "n_trained": 12},
]


def test_the_same_numbers(make_exported: Callable[..., Exported]) -> None:
    graphs = [make_exported(**settings) for settings in SETTINGS]
    ids = graphs[0].ids(TEXTS)
    batches = [pad(ids, keep_gates=True), pad(ids), pad([[3]], keep_gates=True)]
    as_lists = [{name: array.tolist() for name, array in one.items()} for one in batches]
    done = subprocess.run(
        ["node", str(SCRIPT)],
        input=json.dumps([{"path": str(one.path), "batches": as_lists} for one in graphs]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for graph, answers in zip(graphs, json.loads(done.stdout), strict=True):
        for batch, found in zip(batches, answers, strict=True):
            expected = graph.feed(batch)
            assert {name: tuple(shape) for name, (shape, _) in found.items()} == {
                name: array.shape for name, array in expected.items()
            }
            for name, array in expected.items():
                values = np.reshape(found[name][1], array.shape)
                np.testing.assert_allclose(values, array, rtol=0, atol=TOLERANCE)
