"""What is measured on a validation part: accuracy of one label a text, micro F1 of several."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from adasent.systems.cbow import CBow, CBowConfig
from adasent.training.objective import Score
from adasent.training.stacked import share


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_several_labels_are_measured_by_their_micro_f1(weight: float) -> None:
    torch.manual_seed(0)
    config = CBowConfig(n_trained=2, n_classes=4, vector_size=5, multilabel=True)
    system = CBow(config).eval()
    vectors, lengths = torch.randn(50, 3, 5), torch.full((50,), 3)
    there = torch.rand(50, 4) < 0.4
    targets = torch.cat([there, ~there], dim=1).float()
    weights = torch.ones(50)
    weights[25:] = weight
    _, hits, counted, _ = Score(system)(vectors, lengths, targets, weights)
    said = system.classify(vectors, lengths).log_probs.exp()[:, :4] > 0.5
    # A text of half the weight: all others come twice.
    often = np.repeat(np.arange(50), np.where(weights.numpy() == 1, 2, 1))
    expected = f1_score(there[often].numpy(), said[often].numpy(), average="micro")
    assert 0.2 < expected < 0.9
    assert float(share(hits, counted)) == pytest.approx(expected, abs=1e-6)
    assert share(torch.zeros(()), torch.zeros(())) == 0  # nothing there, nothing said
