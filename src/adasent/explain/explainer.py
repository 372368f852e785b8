"""Makes the explanations of texts, batch by batch, with numpy alone.

What most readers never ask for is found only when it is asked: for all texts of a batch, once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Protocol, overload

import numpy as np

from adasent.checks import check_choice
from adasent.data.corpus import Label
from adasent.encoders.protocol import WordEncoder
from adasent.explain.call_words import CallWords, words_of
from adasent.explain.explanation import METHODS, Explanation
from adasent.explain.orders import cheap_scores
from adasent.explain.phrases import FoundPhrases, find_phrases
from adasent.explain.shapley import LONGEST, shapley_values
from adasent.explain.units import pooled_shares, unit_scores, unit_votes
from adasent.pyramid.layout import Layout, batches
from adasent.runtime.arrays import Doubles, Floats
from adasent.runtime.climb import Passes, Pyramids, climb
from adasent.runtime.head import check_finite
from adasent.runtime.network import BATCH_WORDS, Network
from adasent.text.encoder import check_texts
from adasent.text.offsets import Offsets
from adasent.text.passage import Passage, read_passages
from adasent.text.tokenize import run_tokenizer
from adasent.text.vocabulary import SPECIALS, UNK_ID

#: Scores of words that the others are made with when none is named.
DEFAULT_METHOD = "shapley"


class Model(Protocol):
    """What is explained: a :class:`adasent.Predictor`, or anything with the same three parts."""

    network: Network
    encoder: WordEncoder
    classes_: np.ndarray
    thresholds_: Doubles | None


@overload
def explain(model: Model, texts: str, *, method: str = DEFAULT_METHOD) -> Explanation: ...


@overload
def explain(model: Model, texts: Any, *, method: str = DEFAULT_METHOD) -> list[Explanation]: ...


def explain(
    model: Model, texts: Any, *, method: str = DEFAULT_METHOD
) -> Explanation | list[Explanation]:
    """Why each text gets its label.

    Texts are explained together, so a list is quicker than its texts one by one; the result is the
    same but for the last bits of float32.

    Parameters
    ----------
    texts
        A string, or strings: list, array or Series.
    method
        How words are scored. By either, the scores of a text sum to what the model says of it less
        what it says of no word. ``shapley``, right before cheap: what a word adds to the others, in
        the mean over all orders (:mod:`adasent.explain.shapley`). ``fast``, for thousands of texts
        and for those of more than 200 words in any case: in the mean over two orders and the word
        alone (:mod:`adasent.explain.orders`).

    Returns
    -------
    An explanation, or a list of them in the order of the texts.
    """
    check_choice("method", method, tuple(METHODS))
    if isinstance(texts, str):
        return _explain(model, [texts], method)[0]
    return _explain(model, check_texts(texts), method)


def _explain(model: Model, texts: list[str], method: str) -> list[Explanation]:
    if not texts:
        return []
    encoder, network = model.encoder, model.network
    passages = read_passages(texts, encoder.tokenizer, encoder.max_words)
    lengths = np.array([len(one) for one in passages], dtype=np.int64)
    groups = batches(lengths, BATCH_WORDS)
    passages = [passages[i] for group in groups for i in group]
    labels = Labels(tuple(model.classes_.tolist()), model.thresholds_)
    found: dict[int, Explanation] = {}
    # Overflow shows in the probabilities, where the network finds it.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        call = Call(network, words_of(network, encoder, passages), network.passes(lengths), method)
        done = n_words = 0
        for group in groups:
            own = slice(n_words, n_words + int(lengths[group].sum()))
            batch = Batch(call, Layout(lengths[group], network.config.max_height), own, done)
            for row, i in enumerate(group.tolist()):
                deferred = Deferred(batch, row, passages[done + row])
                found[i] = _explanation(deferred, encoder, labels)
            done, n_words = done + len(group), own.stop
    return [found[i] for i in range(len(texts))]


class Labels(NamedTuple):
    """The labels of a model; where a text may have several, from which probability on."""

    classes: tuple[Label, ...]
    thresholds: Doubles | None


def _explanation(rest: Deferred, encoder: WordEncoder, labels: Labels) -> Explanation:
    """One text of a batch, with the text itself."""
    batch, row, text, tokens = rest.batch, rest.row, rest.passage.text, rest.passage.tokens
    cut = len(tokens) == encoder.max_words
    n_words = len(run_tokenizer(encoder.tokenizer, text)) if cut else len(tokens)
    *_, levels = batch.part(row)
    method = batch.method_of(row)
    words, errors = batch.word_scores(row)
    return Explanation(
        text,
        tuple(tokens) or (SPECIALS[UNK_ID],),
        labels.classes,
        batch.probabilities[row],
        batch.call.base,
        batch.beliefs[levels],
        batch.votes[:, levels].T,
        words,
        errors,
        rest,
        n_words,
        n_words > len(tokens),
        METHODS[method],
        labels.thresholds,
    )


class Call:
    """What the batches of a call share.

    Attributes
    ----------
    lone, base
        (words, C) what each distinct word says alone, and (C,) what is said of no word.
    """

    def __init__(self, network: Network, words: CallWords, passes: Passes, method: str) -> None:
        self.network, self.words, self.passes, self.method = network, words, passes, method
        self.maximum = network.composition.maximum
        self.lone = unit_votes(network.head, words.words.units).T
        self.base: Doubles = network.settled(self.lone[words.empty : words.empty + 1])[0]


class Batch:
    """Texts whose pyramids are built together.

    Most explanations are read for their words and levels. What a unit says takes the unit, which is
    built again when it is asked: kept, the units would be ten times the rest of an explanation.

    Parameters
    ----------
    own, first
        Which of the words of the call are its, and which of the texts of the call comes first.

    Attributes
    ----------
    probabilities, beliefs, votes
        (B, C); (n_levels,) and (C, n_levels), text after text.
    """

    def __init__(self, call: Call, layout: Layout, own: slice, first: int) -> None:
        self.call, self.layout = call, layout
        self._own, self._first = own, first
        fast = self.method_of(0) == "fast"
        pyramids = self._climb(keep=fast)
        self.beliefs, log_votes, mixed = call.network.mix(pyramids.levels, layout, call.passes)
        self.votes: Doubles = np.exp(log_votes)
        self.probabilities = call.network.settled(mixed.T)
        self._cheap = self._cheap_scores(pyramids) if fast else None
        # Parts of a text may overflow where the text as a whole does not.
        check_finite(self.beliefs, self.votes, *(self._cheap or ()))

    def method_of(self, row: int) -> str:
        """How the words of a text are scored; the longest text is the first."""
        return "fast" if self.layout.lengths[row] > LONGEST else self.call.method

    def word_scores(self, row: int) -> tuple[Doubles, Doubles]:
        """(T, C) scores of the words of a text, and their standard errors."""
        if self._cheap is not None and self.method_of(row) == "fast":
            own = slice(*self.layout.first_word[row : row + 2])
            return self._cheap[0][own], self._cheap[1][own]
        n_words = int(self.layout.lengths[row])
        found = shapley_values(self.call.words.worth(self._first + row), n_words)
        return found.words, found.errors

    @cached_property
    def pyramid(self) -> BuiltPyramids:
        """Gates, votes and shares of all units."""
        network, layout = self.call.network, self.layout
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            pyramids = self._climb(keep=True)
            rows = layout.unit_rows
            gates = pyramids.gates.mean(axis=2)[rows[rows >= layout.n_words] - layout.n_words]
            votes = unit_votes(network.head, pyramids.units)[:, rows]
            shares = pooled_shares(pyramids, layout, maximum=self.call.maximum)
        check_finite(gates, votes, shares)
        return BuiltPyramids(gates, votes, shares)

    def part(self, row: int) -> tuple[slice, slice, slice]:
        """Which of the units, of the units above the words, and of the levels are a text's."""
        layout = self.layout
        words, units, levels = (
            slice(*bounds[row : row + 2].tolist())
            for bounds in (layout.first_word, layout.first_unit, layout.first_level)
        )
        return units, slice(units.start - words.start, units.stop - words.stop), levels

    def phrases(self, row: int, words: Doubles) -> FoundPhrases:
        """The phrases of a text."""
        worth = self.call.words.worth(self._first + row)
        return find_phrases(worth, words, in_text=self.method_of(row) != "fast")

    def _climb(self, *, keep: bool) -> Pyramids:
        which, every = self.call.words.which[self._own], self.call.words.words
        rows = np.empty_like(which)
        rows[self.layout.word_rows] = which
        first = every.units[rows], every.products[rows]
        composition = self.call.network.composition
        return climb(*first, self.layout, composition, self.call.passes, keep=keep)

    def _cheap_scores(self, pyramids: Pyramids) -> tuple[Doubles, Doubles]:
        call, layout = self.call, self.layout
        alone = call.lone[call.words.lone[self._own]] - call.base
        orders = call.words.added(pyramids, layout, self._first, call.base)
        gain = self.probabilities - call.base
        return cheap_scores(alone, orders, gain, layout.first_word[:-1])


class BuiltPyramids(NamedTuple):
    """All units of a batch, text after text and level after level."""

    gates: Floats  # (n_units - n_words, 3) means over the groups
    votes: Doubles  # (C, n_units)
    shares: Floats  # (n_units,) in the pooling


class Deferred(NamedTuple):
    """One text of a :class:`Batch`; see :class:`~adasent.explain.explanation.Rest`."""

    batch: Batch
    row: int
    passage: Passage

    @property
    def offsets(self) -> Offsets:
        """Of each token."""
        return self.passage.offsets or ((0, 0),)

    @property
    def gates(self) -> Floats:
        """(units above the words, 3)."""
        return self.batch.pyramid.gates[self.batch.part(self.row)[1]]

    @property
    def votes(self) -> Doubles:
        """(units, C)."""
        return self.batch.pyramid.votes[:, self.batch.part(self.row)[0]].T

    @property
    def added(self) -> Doubles:
        """(units above the words, C)."""
        batch = self.batch
        units, above, levels = batch.part(self.row)
        votes, beliefs, base = batch.votes[:, levels].T, batch.beliefs[levels], batch.call.base
        level_scores = beliefs[:, None] * (votes - base)
        shares = batch.pyramid.shares[units]
        scores = unit_scores(self.votes, shares, level_scores, beliefs, base)
        return scores[len(scores) - (above.stop - above.start) :]

    def phrases(self, words: Doubles) -> FoundPhrases:
        """Of words with these scores."""
        return self.batch.phrases(self.row, words)
