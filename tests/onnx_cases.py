"""Exported models in ONNX Runtime, beside what adasent says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import adasent
from adasent.export.onnx_file import export_onnx
from adasent.runtime.trace import Trace
from examples.onnx_predict import pad

#: Of probabilities, beliefs, votes and gates.
TOLERANCE = 1e-5

TEXTS = [
    "good",
    "a dull film and the plot was bad",
    "zzz",  # no word that the model knows
    "the cast was qqq good and the the the plot",
    "bad film",
    "",  # read as one unknown word
    "<unk> <pad> film",
]


class Exported:
    """A model that was saved, loaded and exported."""

    def __init__(self, folder: Path, path: Path, **how: Any) -> None:
        self.predictor = adasent.load(folder)
        self.files = export_onnx(folder, path, **how)
        self.open(path)

    def open(self, path: Path) -> None:
        """Start a session on one thread."""
        self.path = path
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        self.about = self.session.get_modelmeta().custom_metadata_map
        self.names = [one.name for one in self.session.get_outputs()]

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids as adasent makes them, of texts without words too."""
        encoder = self.predictor.encoder
        return [encoder.vocabulary.encode(encoder.tokenizer(text)).tolist() for text in texts]

    def run(self, ids: Sequence[Sequence[int]]) -> dict[str, np.ndarray]:
        """The outputs by name."""
        return self.feed(pad(ids, keep_gates=True))

    def feed(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same of arrays as they are."""
        return dict(zip(self.names, self.session.run(None, batch), strict=True))

    def traces(self, ids: Sequence[Sequence[int]]) -> list[Trace]:
        """What adasent computes of texts that are ids."""
        return [self.predictor.network.trace("", np.array(row)) for row in ids]


def compare(
    found: dict[str, np.ndarray], traces: Sequence[Trace], of_gates: float = TOLERANCE
) -> None:
    """Every number of the graph is that of the traces; where a text ends there are zeros."""
    for i, trace in enumerate(traces):
        expected = {
            "beliefs": trace.beliefs,
            "votes": trace.level_probabilities,
            "probabilities": trace.probabilities,
        }
        for name, values in expected.items():
            whole = np.zeros_like(found[name][i])
            whole[: len(values)] = values
            np.testing.assert_allclose(found[name][i], whole, rtol=0, atol=TOLERANCE, err_msg=name)
        whole = np.zeros_like(found["gates"][i])
        for t, level in enumerate(trace.gates):
            whole[t, : len(level)] = level
        np.testing.assert_allclose(found["gates"][i], whole, rtol=0, atol=of_gates)
