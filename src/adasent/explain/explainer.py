"""A model and texts in; an ``Explanation`` for each text out, with numpy alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from adasent.explain.attribution import Attributor
from adasent.explain.deferred import Deferred, DeferredBatch
from adasent.explain.explanation import EXACT, METHOD, Explanation
from adasent.explain.parts import ByLevel
from adasent.runtime.packing import BATCH_WORDS, batches
from adasent.text.encoder import check_texts, tokenise
from adasent.text.tokenize import run_tokenizer
from adasent.text.vocabulary import SPECIALS, UNK_ID

if TYPE_CHECKING:
    from adasent.data.corpus import Label
    from adasent.estimators.predictor import Predictor
    from adasent.text.encoder import TextEncoder


@overload
def explain(predictor: Predictor, texts: str, *, exact: bool = False) -> Explanation: ...


@overload
def explain(predictor: Predictor, texts: Any, *, exact: bool = False) -> list[Explanation]: ...


def explain(
    predictor: Predictor, texts: Any, *, exact: bool = False
) -> Explanation | list[Explanation]:
    """Why each text gets its label.

    Texts are explained together, so a list is quicker than its texts one by one; the result is the
    same but for the last bits of float32.

    Parameters
    ----------
    texts
        A string, or strings: list, array or Series.
    exact
        Leave out every word in turn for the scores of words, in place of an estimate. Each word
        then costs a prediction of its text.

    Returns
    -------
    An explanation, or a list of them in the order of the texts.
    """
    if isinstance(texts, str):
        return _explain(predictor, [texts], exact)[0]
    return _explain(predictor, check_texts(texts), exact)


def _explain(predictor: Predictor, texts: list[str], exact: bool) -> list[Explanation]:
    if not texts:
        return []
    encoder, network = predictor.encoder, predictor.network
    tokenised = tokenise(texts, encoder.tokenizer, encoder.max_words)
    ids = [encoder.vocabulary.encode(tokens) for tokens in tokenised]
    lengths = np.array([len(row) for row in ids], dtype=np.int64)
    groups = batches(lengths, BATCH_WORDS)
    classes = tuple(predictor.classes_.tolist())
    found: dict[int, Explanation] = {}
    # Overflow shows in the probabilities, where the attributor finds it.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        every = np.concatenate([*(ids[i] for group in groups for i in group), [UNK_ID]])
        words = network.words(every)
        cells = network.compiler.cells(network.composition, lengths)
        attribute = Attributor(network, words, int(words.which[-1]), cells)
        done = 0
        for group in groups:
            n_words = int(lengths[group].sum())
            which = words.which[done : done + n_words]
            done += n_words
            part = attribute(lengths[group], which, [ids[i] for i in group] if exact else None)
            batch = DeferredBatch(attribute, part, which, encoder.tokenizer)
            for row, i in enumerate(group.tolist()):
                rest = Deferred(batch, row, texts[i], tokenised[i])
                found[i] = _explanation(rest, encoder, classes, EXACT if exact else METHOD)
    return [found[i] for i in range(len(texts))]


def _explanation(
    rest: Deferred, encoder: TextEncoder, classes: tuple[Label, ...], method: str
) -> Explanation:
    """One text of an attribution, with the text itself."""
    found, row, tokens = rest.batch.found, rest.row, rest.tokens
    cut = len(tokens) == encoder.max_words
    n_words = len(run_tokenizer(encoder.tokenizer, rest.text)) if cut else len(tokens)
    words, units = rest.batch.words[row], rest.batch.units[row]
    gates = slice(units.start - words.start, units.stop - words.stop)
    n_levels = max(1, len(tokens))
    return Explanation(
        rest.text,
        tuple(tokens) or (SPECIALS[UNK_ID],),
        classes,
        found.probabilities[row],
        found.beliefs[words],
        found.votes[:, words].T,
        ByLevel(found.gates[gates], n_levels - 1),
        ByLevel(found.unit_scores[:, units].T, n_levels),
        found.word_scores[:, words].T,
        rest,
        n_words,
        n_words > len(tokens),
        method,
    )
