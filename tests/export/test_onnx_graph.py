"""The graph in ONNX Runtime says what adasent.load says, whatever the settings and the company."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from examples.onnx_predict import pad
from onnx_cases import TEXTS, TOLERANCE, Exported, compare

PAGE = Path(__file__).parents[2] / "docs" / "export.md"

#: Every option that changes the graph: those that most say together, then the others.
CHOICES = {
    "pooling": ("max", "mean"),
    "activation": ("tanh", "relu"),
    "local_gate": ("softmax", "mlp"),
    "level_gate": ("softmax", "mlp"),
    "classifier_size": (0, 6),
}
SETTINGS: list[dict[str, Any]] = [
    *(dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values())),
    {"level_norm": False},
    {"level_norm": False, "pooling": "mean", "level_gate": "mlp"},
    {"hidden_size": 6, "gate_groups": 2, "level_norm": False},
    {"hidden_size": 6, "gate_groups": 6, "pooling": "mean", "activation": "relu"},
    {"hidden_size": 6, "gate_groups": 3, "local_gate": "mlp", "max_height": 3},
    {"hidden_size": 1},
    {"max_height": 1, "pooling": "mean"},
    {"max_height": 2, "level_norm": False},
    {"max_height": 4, "local_gate": "mlp"},
    {"copy_bias": -3.0},
    {"multilabel": True},
    {"multilabel": True, "pooling": "mean", "classifier_size": 0, "level_norm": False},
    {"multilabel": True, "n_classes": 1, "max_height": 3},
    {"n_classes": 1},
    {"n_classes": 9},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_number_is_that_of_adasent(
    make_exported: Callable[..., Exported], settings: dict[str, Any]
) -> None:
    one = make_exported(**settings)
    ids = one.ids(TEXTS)
    found = one.run(ids)
    compare(found, one.traces(ids))
    with pytest.warns(UserWarning, match="without a word"):
        expected = one.predictor.predict_proba(TEXTS)
    np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=TOLERANCE)


def test_outputs_have_the_shapes_of_the_docs(exported: Exported) -> None:
    found = exported.run([[3, 4, 5, 1], [2]])
    assert {name: values.shape for name, values in found.items()} == {
        "probabilities": (2, 3),
        "beliefs": (2, 4),
        "votes": (2, 4, 3),
        "gates": (2, 3, 3, 3, 2),
    }
    assert {values.dtype for values in found.values()} == {np.dtype(np.float32)}


def test_levels_are_at_most_the_height(make_exported: Callable[..., Exported]) -> None:
    one = make_exported(max_height=3)
    shapes = [one.run([list(range(2, 2 + n))])["beliefs"].shape for n in (1, 2, 3, 5)]
    assert shapes == [(1, 1), (1, 2), (1, 3), (1, 3)]
    assert one.run([[2, 3, 4, 5, 6]])["gates"].shape == (1, 2, 4, 3, 1)


@pytest.mark.parametrize("pooling", ["max", "mean"])
@pytest.mark.parametrize("length", [1, 2, 70])
def test_a_text_alone(make_exported: Callable[..., Exported], pooling: str, length: int) -> None:
    one = make_exported(pooling=pooling)
    ids = [np.random.default_rng(length).integers(0, 12, length).tolist()]
    compare(one.run(ids), one.traces(ids))


def test_padding_changes_nothing(exported: Exported) -> None:
    ids = exported.ids(TEXTS)
    plain = exported.run(ids)
    lengths = np.array([len(row) for row in ids])
    padded = np.random.default_rng(0).integers(0, 12, (len(ids), lengths.max() + 5))
    for row, own in zip(padded, ids, strict=True):
        row[: len(own)] = own
    found = exported.feed({"ids": padded, "lengths": lengths, "keep_gates": np.array(True)})
    n_levels = int(lengths.max())
    np.testing.assert_allclose(found["probabilities"], plain["probabilities"], atol=1e-6)
    np.testing.assert_allclose(found["beliefs"][:, :n_levels], plain["beliefs"], atol=1e-6)
    np.testing.assert_allclose(found["votes"][:, :n_levels], plain["votes"], atol=1e-6)
    assert not found["beliefs"][:, n_levels:].any()
    assert not found["votes"][:, n_levels:].any()
    inside = found["gates"][:, : n_levels - 1, : n_levels - 1]
    np.testing.assert_allclose(inside, plain["gates"], atol=1e-6)
    assert not found["gates"][:, n_levels - 1 :].any()


def test_order_and_company_change_nothing(exported: Exported) -> None:
    ids = exported.ids(TEXTS)
    together = exported.run(ids)["probabilities"]
    turned = exported.run(ids[::-1])["probabilities"][::-1]
    np.testing.assert_allclose(turned, together, rtol=0, atol=1e-6)
    alone = np.concatenate([exported.run([row])["probabilities"] for row in ids])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-6)


def test_lengths_beyond_the_ids_are_those_of_the_ids(exported: Exported) -> None:
    ids = np.array([[3, 4, 5]])
    whole = exported.run(ids.tolist())
    for length, same in ((9, whole), (0, exported.run([[3]]))):
        found = exported.feed(pad(ids.tolist()) | {"lengths": np.array([length])})
        np.testing.assert_allclose(found["probabilities"], same["probabilities"], atol=1e-6)


@pytest.mark.parametrize(
    "settings", [{"n_fixed": 0, "n_trained": 12}, {"n_trained": 2} | {"n_fixed": 10}]
)
def test_word_tables_of_one_kind(
    make_exported: Callable[..., Exported], settings: dict[str, Any]
) -> None:
    one = make_exported(**settings)
    ids = one.ids(TEXTS)
    compare(one.run(ids), one.traces(ids))


@pytest.mark.parametrize("multilabel", [False, True])
def test_overflow_is_not_a_number(make_exported: Callable[..., Exported], multilabel: bool) -> None:
    one = make_exported(multilabel=multilabel, activation="relu")
    model = onnx.load(one.path)
    (weight,) = (each for each in model.graph.initializer if each.name == "projection")
    huge = np.full(onnx.numpy_helper.to_array(weight).shape, 3e38, dtype=np.float32)
    weight.CopyFrom(onnx.numpy_helper.from_array(huge, "projection"))
    session = type(one.session)(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(["probabilities"], pad([[3, 4, 5]]))
    assert np.isnan(found).any()


def test_without_gates_the_rest_is_the_same(exported: Exported) -> None:
    ids = exported.ids(TEXTS)
    expected, found = exported.run(ids), exported.feed(pad(ids, keep_gates=False))
    longest = max(map(len, ids))
    assert found.pop("gates").shape == (len(ids), longest - 1, 0, 3, 2)
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], rtol=0, atol=1e-6)


def operators(graph: onnx.GraphProto) -> set[str]:
    """Kinds of the nodes, of subgraphs too."""
    found = {node.op_type for node in graph.node}
    inner = [one.g for node in graph.node for one in node.attribute if one.HasField("g")]
    return found.union(*map(operators, inner))


def test_the_page_lists_the_operators(make_exported: Callable[..., Exported]) -> None:
    graphs = [
        make_exported(),
        make_exported(pooling="mean", activation="relu", max_height=3, multilabel=True),
        make_exported(pooling="max", local_gate="mlp"),
    ]
    found = set().union(*(operators(onnx.load(one.path).graph) for one in graphs))
    (line,) = re.findall(r"^The operators: (.*?)\.$", PAGE.read_text("utf-8"), re.M | re.S)
    assert re.split(r",\s+", line) == sorted(found)


def test_the_file_says_which_runtimes_read_it(exported: Exported) -> None:
    model = onnx.load(exported.path)
    assert (model.ir_version, [(one.domain, one.version) for one in model.opset_import]) == (
        8,
        [("", 17)],
    )
    onnx.checker.check_model(model, full_check=True)
