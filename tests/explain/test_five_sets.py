"""The promises of an explanation on real sentences of the five sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.data import load
from adasent.explain import explain
from adasent.text.tokenize import TOKENIZERS

pytestmark = pytest.mark.mirror
N_TEXTS = 1000


@pytest.mark.parametrize("every", [50, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tokenizer", ["words", "kim"])
@pytest.mark.parametrize("name", ["MR", "CR", "SUBJ", "MPQA", "TREC"])
def test_a_thousand_sentences(
    mirror: Path, make_twin: Callable[..., Any], name: str, tokenizer: str, every: int
) -> None:
    split = TOKENIZERS[tokenizer]
    corpus = load(name).texts
    texts = [text for text in corpus[:: len(corpus) // N_TEXTS] if split(text)][:N_TEXTS]
    seen = {word for text in texts for word in split(text)}
    vocabulary = [word for word in sorted(seen) if word not in ("<pad>", "<unk>")]
    twin = make_twin(tokenizer=split, vocabulary=vocabulary)
    twin.predictor.encoder.max_words = 10_000
    found = explain(twin.predictor, texts, method="fast")
    p = twin.predictor.predict_proba(texts)
    for one, text, row in zip(found, texts, p, strict=True):
        np.testing.assert_allclose(one.contributions.sum(axis=0), row, atol=1e-6)
        # Text between tokens holds no word; each token is read off its characters.
        pieces = [text[s:e] for s, e in one.offsets]
        assert [token for piece in pieces for token in split(piece)] == list(one.tokens)
    for one in found[::every]:  # torch takes its time
        expected = twin.reference(twin.predictor.encoder([one.text])[0])
        for part in ("probabilities", "beliefs", "level_probabilities", "words"):
            np.testing.assert_allclose(getattr(one, part), expected[part], atol=1e-5, err_msg=part)
        for part in ("gates", "unit_scores"):
            for level, other in zip(getattr(one, part), expected[part], strict=True):
                np.testing.assert_allclose(level, other, atol=1e-5, err_msg=part)
