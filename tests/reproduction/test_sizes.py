"""What networks learn is counted from the networks themselves, words apart."""

from __future__ import annotations

import math
from typing import Any

import pytest

from adasent.saving.adasent import tensor_shapes
from adasent.systems.config import AdaSentConfig
from reproduction.jobs import Jobs
from reproduction.sizes import Sizes, largest, network_sizes, size_table
from reproduction.specs import PlannedRun, SystemSpec, experiments

SIZES: Sizes = {
    "rnn": {"word": 5, "network": {"10": 1200, "2": 1000}},
    "brnn": {"word": 5, "network": {"2": 3000}},
}
RNN, BRNN = (SystemSpec(name, name.upper(), vectors=True) for name in ("rnn", "brnn"))


@pytest.fixture(scope="module")
def found() -> Sizes:
    class Narrow(Jobs):
        def vector_size(self, run: PlannedRun) -> int:
            return 7 * (len(self.plan.vectors(run)) or 1)

    return network_sizes(Narrow(), [6, 2])


def test_every_network_is_counted(found: Sizes) -> None:
    plan = experiments()
    networks = {name for name, system in plan.systems.items() if system.vectors}
    others = {name for name, ablation in plan.ablations.items() if ablation.system != "adasent"}
    assert found.keys() == networks | others | plan.taught.keys()
    assert all(list(size["network"]) == ["2", "6"] for size in found.values())


def test_adasent_has_what_its_file_has(found: Sizes) -> None:
    for n_classes in (2, 6):
        config = AdaSentConfig(n_trained=9, n_classes=n_classes, vector_size=21, gate_groups=100)
        shapes = tensor_shapes(config).items()
        beside = sum(math.prod(s) for name, s in shapes if not name.startswith("embedding."))
        assert found["adasent"]["network"][str(n_classes)] == beside
    assert found["adasent"]["word"] == 21


def test_words_may_have_more_than_their_vector(found: Sizes) -> None:
    assert found["mv-recnn"]["word"] > 21  # a matrix
    assert found["cnn-non-static-glove-100d"]["word"] == 7


def test_as_small_is_as_small() -> None:
    class Wide(Jobs):
        def vector_size(self, run: PlannedRun) -> int:
            return 556  # of the protocol's vectors

    sizes = network_sizes(Wide(), [2])
    for name in ("brnn-as-small", "cnn-as-small"):
        n = sizes[name]["network"]["2"]
        # A map of CNN has 6,700 weights: it cannot come nearer.
        assert 0.95 * sizes["adasent"]["network"]["2"] < n <= sizes["adasent"]["network"]["2"]


def test_the_largest_counts() -> None:
    assert largest(SIZES, "rnn") == 1200
    assert largest(SIZES, "cnn") is None


@pytest.mark.parametrize(
    ("sizes", "systems"), [({}, [RNN]), (SIZES, []), (SIZES, [SystemSpec("mnb", "MNB")])]
)
def test_nothing_to_show(sizes: Any, systems: list[SystemSpec]) -> None:
    assert size_table(sizes, systems) == []


def test_the_table() -> None:
    (table,) = size_table(SIZES, [RNN, BRNN, SystemSpec("cnn", "CNN", vectors=True)])
    assert table.columns == ("Model", "a word", "2 classes", "10 classes")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["RNN", "5", "1,000", "1,200"],
        ["BRNN", "5", "3,000", "missing"],
        ["CNN", "missing", "missing", "missing"],
    ]
