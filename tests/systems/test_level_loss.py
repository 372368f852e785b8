"""The loss on each level: by hand, and nothing where it is not asked for."""

from __future__ import annotations

import pytest
import torch

from adasent.errors import ConfigError
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig


def build(**settings: object) -> AdaSent:
    torch.manual_seed(0)
    sizes = {"n_trained": 9, "n_classes": 3, "vector_size": 4, "hidden_size": 6}
    return AdaSent(AdaSentConfig(**(sizes | settings)))  # type: ignore[arg-type]


@pytest.mark.parametrize("max_height", [None, 2])
def test_the_mean_over_the_levels_a_text_has_is_added(max_height: int | None) -> None:
    ids, lengths = torch.tensor([[2, 3, 4, 5], [6, 7, 0, 0]]), torch.tensor([4, 2])
    targets = torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    plain = build(max_height=max_height)
    taught = build(max_height=max_height, level_loss=0.3)
    output = plain(ids, lengths)
    for i, length in enumerate(lengths.tolist()):
        n_levels = min(length, max_height or length)
        each = -(targets[i] * output.level_log_probs[i, :n_levels]).sum(dim=1)
        own = -(targets[i] * output.log_probs[i]).sum()
        torch.testing.assert_close(plain.loss(output, targets)[i], own)
        torch.testing.assert_close(taught.loss(output, targets)[i], own + 0.3 * each.mean())


def test_groups_must_divide_the_dimensions() -> None:
    with pytest.raises(ConfigError, match="gate_groups must divide hidden_size, 6; got 4"):
        build(gate_groups=4)
    with pytest.raises(ConfigError, match="max_height must be a whole number of at least 1; got 0"):
        build(max_height=0)
