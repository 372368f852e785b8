"""Norms by level against hand-made networks that vanish, explode and copy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from adasent.systems.adasent import AdaSent
from adasent.text.batch import n_cells
from adasent.training.examples import Examples
from adasent.training.gradient_flow import (
    FLOW_CELLS,
    FLOW_SAMPLE,
    GradientFlow,
    flow_sample,
    gradient_flow,
)

MakeModel = Callable[..., AdaSent]


def composing(model: AdaSent, scale: float) -> AdaSent:
    """Gates that always compose, W_L = W_R = scale times the identity, f almost linear."""
    with torch.no_grad():
        composition = model.composition
        composition.compose_left.copy_(scale * torch.eye(6))
        composition.compose_right.copy_(scale * torch.eye(6))
        composition.gate_left.zero_()
        composition.gate_right.zero_()
        composition.gate_bias.copy_(torch.tensor([-50.0, -50.0, 50.0]))
        # relu passes what is positive and ends at 10,000
        model.embedding.trained.abs_().mul_(1e-8)
        model.projection.weight.copy_(torch.eye(6))
    return model


def test_root_starts_at_one(make_model: MakeModel, examples: Examples) -> None:
    flow = gradient_flow(make_model(), examples)
    longest = max(len(row) for row in examples.ids)
    assert len(flow.loss) == len(flow.root) == longest
    assert flow.root[0] == pytest.approx(1.0, rel=1e-6)
    assert flow.verdict == "healthy"


@pytest.mark.parametrize(("scale", "verdict"), [(0.01, "vanishing"), (10.0, "exploding")])
def test_tiny_and_huge_weights_are_detected(
    make_model: MakeModel, examples: Examples, scale: float, verdict: str
) -> None:
    model = composing(make_model(activation="relu"), scale)
    flow = gradient_flow(model, examples)
    assert flow.verdict == verdict
    # One step down, two children each get scale times the unit gradient.
    assert flow.root[:2] == pytest.approx([1.0, scale * 2**0.5], rel=1e-4)


def test_copying_neither_grows_nor_shrinks(make_model: MakeModel, examples: Examples) -> None:
    model = composing(make_model(), 0.01)
    with torch.no_grad():
        model.composition.gate_bias.copy_(torch.tensor([50.0, -50.0, -50.0]))
    flow = gradient_flow(model, examples)
    assert flow.root == pytest.approx([1.0] * len(flow.root), rel=1e-4)


def test_what_is_not_finite_has_exploded() -> None:
    assert GradientFlow([1.0], [1.0, float("nan")]).verdict == "exploding"
    assert GradientFlow([float("inf")], [1.0]).verdict == "exploding"


def test_as_json_values() -> None:
    assert GradientFlow([0.5], [1.0]).to_dict() == {
        "loss": [0.5],
        "root": [1.0],
        "verdict": "healthy",
    }


def test_leaves_the_model_as_it_was(make_model: MakeModel, examples: Examples) -> None:
    model = make_model()
    with torch.no_grad():
        gradient_flow(model, examples)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_measured_on_few_cells(examples: Examples) -> None:
    """Keeping every unit of a 2,000-word text takes gigabytes; such texts are passed over."""
    long = Examples(
        [np.zeros(2000, dtype=np.int64), *examples.ids],
        np.vstack([examples.targets[:1], examples.targets]),
        np.ones(len(examples) + 1, dtype=np.float32),
    )
    for seed in range(5):
        sample = flow_sample(long, seed)
        assert len(sample) == FLOW_SAMPLE
        assert n_cells(sample.lengths).sum() <= FLOW_CELLS
    only_long = long.take(np.array([0]))
    assert len(flow_sample(only_long, 0)) == 1
