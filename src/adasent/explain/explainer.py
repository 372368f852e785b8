"""Makes the explanations of texts, batch by batch, with numpy alone.

What most readers never ask for is found only when it is asked: for all texts of a batch, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise, starmap
from typing import Any, NamedTuple, Protocol, overload

import numpy as np

from adasent.data.corpus import Label
from adasent.explain.attribution import Attribution, Attributor
from adasent.explain.explanation import EXACT, METHOD, Explanation
from adasent.explain.offsets import Offsets, token_offsets
from adasent.explain.parts import ByLevel
from adasent.explain.phrases import ranked_phrases
from adasent.pyramid.layout import batches
from adasent.runtime.arrays import Doubles, Ints
from adasent.runtime.network import BATCH_WORDS, Network
from adasent.text.encoder import TextEncoder, check_texts, tokenise
from adasent.text.tokenize import Tokenizer, run_tokenizer
from adasent.text.vocabulary import SPECIALS, UNK_ID


class Model(Protocol):
    """What is explained: a :class:`adasent.Predictor`, or anything with the same three parts."""

    network: Network
    encoder: TextEncoder
    classes_: np.ndarray


@overload
def explain(model: Model, texts: str, *, exact: bool = False) -> Explanation: ...


@overload
def explain(model: Model, texts: Any, *, exact: bool = False) -> list[Explanation]: ...


def explain(model: Model, texts: Any, *, exact: bool = False) -> Explanation | list[Explanation]:
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
        return _explain(model, [texts], exact)[0]
    return _explain(model, check_texts(texts), exact)


def _explain(model: Model, texts: list[str], exact: bool) -> list[Explanation]:
    if not texts:
        return []
    encoder, network = model.encoder, model.network
    tokenised = tokenise(texts, encoder.tokenizer, encoder.max_words)
    ids = [encoder.vocabulary.encode(tokens) for tokens in tokenised]
    lengths = np.array([len(row) for row in ids], dtype=np.int64)
    groups = batches(lengths, BATCH_WORDS)
    classes = tuple(model.classes_.tolist())
    found: dict[int, Explanation] = {}
    # Overflow shows in the probabilities, where the attributor finds it.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        every = np.concatenate([*(ids[i] for group in groups for i in group), [UNK_ID]])
        words = network.words(every)
        climbing = network.passes(lengths)
        attribute = Attributor(network, words, int(words.which[-1]), climbing)
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
    levels = slice(*found.layout.first_level[row : row + 2])
    gates = slice(units.start - words.start, units.stop - words.stop)
    n_words_read, n_levels = max(1, len(tokens)), levels.stop - levels.start
    return Explanation(
        rest.text,
        tuple(tokens) or (SPECIALS[UNK_ID],),
        classes,
        found.probabilities[row],
        found.beliefs[levels],
        found.votes[:, levels].T,
        ByLevel(found.gates[gates], n_words_read - 1, n_levels - 1),
        ByLevel(found.unit_scores[:, units].T, n_words_read, n_levels),
        found.word_scores[:, words].T,
        rest,
        n_words,
        n_words > len(tokens),
        method,
    )


class DeferredBatch:
    """The ranked phrases of a batch, and what each of its units says alone.

    Most explanations are read for their words and levels. A unit's vote takes the unit, which is
    composed again: kept, the units would be ten times the rest of an explanation.

    Parameters
    ----------
    found, which
        The batch, and which of the distinct words its words are, text after text.
    tokenizer
        What made words of the texts.

    Attributes
    ----------
    words, units
        For each text, which of the words and units of the batch are its.
    """

    def __init__(
        self, attributor: Attributor, found: Attribution, which: Ints, tokenizer: Tokenizer
    ) -> None:
        self._attributor = attributor
        self.tokenizer = tokenizer
        self._which = which
        self.found = found
        self.words = list(starmap(slice, pairwise(found.layout.first_word.tolist())))
        self.units = list(starmap(slice, pairwise(found.layout.first_unit.tolist())))

    @cached_property
    def phrases(self) -> list[tuple[Ints, Doubles]]:
        """Bounds and scores of each text's phrases; see :func:`ranked_phrases`."""
        return ranked_phrases(self.found)

    @cached_property
    def votes(self) -> Doubles:
        """(C, n_units) probabilities of the classes by each unit alone."""
        return self._attributor.unit_votes(self.found.layout, self._which)


class Deferred(NamedTuple):
    """One text of a :class:`DeferredBatch`; see :class:`~adasent.explain.explanation.Rest`."""

    batch: DeferredBatch
    row: int
    text: str
    tokens: Sequence[str]

    @property
    def offsets(self) -> Offsets:
        """Of each token."""
        return token_offsets(self.text, self.tokens, self.batch.tokenizer) or ((0, 0),)

    @property
    def votes(self) -> Doubles:
        """(units, C)."""
        return self.batch.votes[:, self.batch.units[self.row]].T

    @property
    def bounds(self) -> Ints:
        """(P, 3)."""
        return self.batch.phrases[self.row][0]

    @property
    def scores(self) -> Doubles:
        """(P, C)."""
        return self.batch.phrases[self.row][1]
