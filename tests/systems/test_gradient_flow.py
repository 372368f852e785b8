"""Norms by level of hand-made networks that vanish, explode and copy."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from adasent.systems.adasent import AdaSent
from adasent.systems.base import System
from adasent.systems.config import AdaSentConfig
from adasent.systems.gradient_flow import GradientFlow

N_WORDS = 20
LENGTHS = torch.tensor([3, 1, 6, 2, 6])
IDS = torch.randint(2, N_WORDS, (5, 6), generator=torch.Generator().manual_seed(0))
TARGETS = torch.eye(2)[[0, 1, 1, 0, 1]]


def make_model(**settings: Any) -> AdaSent:
    config = AdaSentConfig(
        n_trained=N_WORDS, n_classes=2, vector_size=6, hidden_size=6, classifier_size=5, **settings
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AdaSent(config)
        model.embedding.set_vectors(torch.randn(N_WORDS, 6))
    return model


def diagnose(model: System) -> dict[str, Any]:
    return model.diagnostics(IDS, LENGTHS, TARGETS)


def flow_of(model: AdaSent) -> GradientFlow:
    flow = diagnose(model)["gradient_flow"]
    found = GradientFlow(flow["loss"], flow["root"])
    assert flow["verdict"] == found.verdict
    return found


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


def test_root_starts_at_one() -> None:
    flow = flow_of(make_model())
    assert len(flow.loss) == len(flow.root) == int(LENGTHS.max())
    assert flow.root[0] == pytest.approx(1.0, rel=1e-6)
    assert flow.verdict == "healthy"


@pytest.mark.parametrize(("scale", "verdict"), [(0.01, "vanishing"), (10.0, "exploding")])
def test_tiny_and_huge_weights_are_detected(scale: float, verdict: str) -> None:
    model = composing(make_model(activation="relu"), scale)
    flow = flow_of(model)
    assert flow.verdict == verdict
    # One step down, two children each get scale times the unit gradient.
    assert flow.root[:2] == pytest.approx([1.0, scale * 2**0.5], rel=1e-4)


def test_copying_neither_grows_nor_shrinks() -> None:
    model = composing(make_model(), 0.01)
    with torch.no_grad():
        model.composition.gate_bias.copy_(torch.tensor([50.0, -50.0, -50.0]))
    flow = flow_of(model)
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


def test_leaves_the_model_as_it_was() -> None:
    model = make_model()
    with torch.no_grad():
        diagnose(model)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_system_has_none_unless_it_says_so() -> None:
    assert diagnose(System(make_model().config)) == {}
