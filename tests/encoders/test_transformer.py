"""Vectors of words from an encoder, whatever they are read together with."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from adasent.encoders import transformer
from adasent.encoders.folder import find_encoder
from adasent.encoders.protocol import WordEncoder
from adasent.encoders.transformer import TransformerEncoder
from adasent.errors import AdaSentWarning
from adasent.text.encoder import TextEncoder
from adasent.text.passage import EMPTY, Passage
from adasent.text.rows import WordRows
from adasent.text.tokenize import words
from adasent.text.vocabulary import Vocabulary

TEXTS = ["the film was unbelievable", "good", "", "a bad plot, don't!", "good good " * 40]


@pytest.fixture(scope="module")
def encoder(encoder_folder: Path) -> TransformerEncoder:
    return TransformerEncoder.open(find_encoder(encoder_folder), words, 2000, scale=0.5)


def passages(texts: list[str] = TEXTS) -> list[Passage]:
    return [Passage(text, words(text)) for text in texts]


def vectors(rows: WordRows) -> list[np.ndarray]:
    assert rows.table is not None
    return [rows.table.rows(ids) for ids in rows.ids]


def test_it_is_a_word_encoder(encoder: TransformerEncoder) -> None:
    one: WordEncoder = encoder
    other: WordEncoder = TextEncoder(words, Vocabulary([]), 5)
    assert one.contextual
    assert not other.contextual
    assert other.rows([EMPTY]).table is None


def test_a_word_is_the_scaled_mean_of_its_pieces(encoder: TransformerEncoder) -> None:
    ids = [
        2,
        *encoder.reader._tokenizer.encode("unbelievable film", add_special_tokens=False).ids,
        3,
    ]
    with torch.no_grad():
        hidden = encoder.network(torch.tensor([ids])).last_hidden_state[0].numpy()
    ((first, second),) = vectors(encoder.rows(passages(["unbelievable film"])))
    np.testing.assert_allclose(first, 0.5 * hidden[1:4].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(second, 0.5 * hidden[4], atol=1e-5)
    ((nothing,),) = vectors(encoder.rows([EMPTY]))
    with torch.no_grad():
        hidden = encoder.network(torch.tensor([[2, 3]])).last_hidden_state[0].numpy()
    np.testing.assert_allclose(nothing, 0.5 * hidden.mean(axis=0), atol=1e-5)


def test_neighbours_order_and_padding_change_nothing(
    encoder: TransformerEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = vectors(encoder.rows(passages()))
    assert [len(one) for one in together] == [4, 1, 1, 7, 80]
    backwards = vectors(encoder.rows(passages(TEXTS[::-1])))[::-1]
    alone = [vectors(encoder.rows([one]))[0] for one in passages()]
    monkeypatch.setattr(transformer, "_ON_CPU", 1)
    one_by_one = vectors(encoder.rows(passages()))
    for others in (backwards, alone, one_by_one):
        for one, other in zip(together, others, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


def test_words_know_their_text(encoder: TransformerEncoder) -> None:
    first, second = vectors(encoder.rows(passages(["good film", "bad film"])))
    assert np.abs(first[1] - second[1]).max() > 1e-3


@pytest.mark.filterwarnings("ignore:of 5 texts")
def test_a_stream_has_all_texts_in_parts(
    encoder: TransformerEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = vectors(encoder.rows(passages()))
    monkeypatch.setattr(transformer, "PART_WORDS", 6)
    parts = list(encoder.stream(TEXTS))
    assert len(parts) == 3
    found = [one for part in parts for one in vectors(part)]
    for one, other in zip(whole, found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    (nothing,) = encoder.stream([])
    assert nothing.ids == []


def test_a_stream_tells_once_what_was_odd(encoder: TransformerEncoder) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(encoder.stream(["good \x00", "", "ab" * 30]))
    messages = [str(one.message) for one in caught]
    assert [one.category for one in caught] == [AdaSentWarning] * 2
    assert "of 3 texts: 1 without a word" in messages[0]
    assert "of 3 texts: 1 words of which the encoder's tokenizer makes nothing" in messages[1]
    assert "1 words of more pieces than the encoder can read, cut" in messages[1]


def test_drawing_weights_leaves_the_generator_alone(encoder_folder: Path) -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    TransformerEncoder.open(find_encoder(encoder_folder), words, 10)
    assert torch.equal(before, torch.random.get_rng_state())
