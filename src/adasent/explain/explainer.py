"""A model and texts in; an ``Explanation`` for each text out, with numpy alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from adasent.explain.attribution import Attribution, attribute
from adasent.explain.explanation import ByLevel, Explanation
from adasent.explain.offsets import token_offsets
from adasent.explain.phrases import ranked_phrases
from adasent.runtime.arrays import Doubles, Ints
from adasent.runtime.words import Words
from adasent.text.batch import n_cells
from adasent.text.encoder import check_texts, tokenise
from adasent.text.tokenize import run_tokenizer
from adasent.text.vocabulary import SPECIALS, UNK_ID

if TYPE_CHECKING:
    from adasent.data.corpus import Label
    from adasent.runtime.predictor import Predictor
    from adasent.text.encoder import TextEncoder

#: Cells explained at a time: at D = 100 their units take 3 MB.
BATCH_CELLS = 8000


@overload
def explain(predictor: Predictor, texts: str) -> Explanation: ...


@overload
def explain(predictor: Predictor, texts: Any) -> list[Explanation]: ...


def explain(predictor: Predictor, texts: Any) -> Explanation | list[Explanation]:
    """Why each text gets its label.

    Texts of one length are explained together, so a list is quicker than its texts one by one; the
    result is the same but for the last bits of float32.

    Parameters
    ----------
    texts
        A string, or strings: list, array or Series.

    Returns
    -------
    An explanation, or a list of them in the order of the texts.
    """
    if isinstance(texts, str):
        return _explain(predictor, [texts])[0]
    return _explain(predictor, check_texts(texts))


def _explain(predictor: Predictor, texts: list[str]) -> list[Explanation]:
    if not texts:
        return []
    encoder, network = predictor.encoder, predictor.network
    tokenised = tokenise(texts, encoder.tokenizer, encoder.max_words)
    ids = [encoder.vocabulary.encode(tokens) for tokens in tokenised]
    lengths = np.array([len(row) for row in ids], dtype=np.int64)
    firsts = np.cumsum(lengths) - lengths
    classes = tuple(predictor.classes_.tolist())
    found: dict[int, Explanation] = {}
    # Overflow shows in the probabilities, where attribute finds it.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        every = np.concatenate([*ids, [UNK_ID]])
        words = Words(every, network.table, network.projection, network.composition.matrix)
        empty = np.exp(network.head.log_probs(words.units[words.which[-1:]]))[:, 0]
        for group in _groups(lengths):
            which = words.which[firsts[group, None] + np.arange(lengths[group[0]])]
            part = attribute(network, words, which, empty)
            phrases = ranked_phrases(part)
            for row, i in enumerate(group.tolist()):
                found[i] = _explanation(
                    texts[i], tokenised[i], encoder, classes, part, row, phrases[row]
                )
    return [found[i] for i in range(len(texts))]


def _groups(lengths: Ints) -> Iterator[Ints]:
    """Texts of equal length, at most :data:`BATCH_CELLS` cells together unless a single one."""
    order = np.argsort(lengths, kind="stable")
    for same in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        n_texts = max(1, BATCH_CELLS // int(n_cells(lengths[same[0]])))
        for first in range(0, len(same), n_texts):
            yield same[first : first + n_texts]


def _explanation(
    text: str,
    tokens: list[str],
    encoder: TextEncoder,
    classes: tuple[Label, ...],
    found: Attribution,
    row: int,
    phrases: tuple[Ints, Doubles],
) -> Explanation:
    """One row of an attribution, with the text it is about."""
    cut = len(tokens) == encoder.max_words
    n_words = len(run_tokenizer(encoder.tokenizer, text)) if cut else len(tokens)
    offsets = token_offsets(text, tokens, encoder.tokenizer)
    n_levels = found.beliefs.shape[1]
    return Explanation(
        text,
        tuple(tokens) or (SPECIALS[UNK_ID],),
        offsets or ((0, 0),),
        classes,
        found.probabilities[row],
        found.beliefs[row],
        found.votes[row],
        ByLevel(found.gates[row], n_levels - 1),
        ByLevel(found.unit_scores[row], n_levels),
        ByLevel(found.unit_votes[row], n_levels),
        found.word_scores[row],
        *phrases,
        n_words,
        n_words > len(tokens),
    )
