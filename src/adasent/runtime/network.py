"""AdaSent in numpy: from ids of texts to probabilities, or to everything on the way there."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from adasent.pyramid.layout import Layout, batches
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.climb import Backend, Composition, Memory, Passes, climb
from adasent.runtime.head import LevelHead, beliefs, check_finite, consensus, settled
from adasent.runtime.trace import Trace
from adasent.saving.word_table import WordTable
from adasent.systems.config import AdaSentConfig
from adasent.text.rows import VectorTable, WordRows

#: Words of a batch, at most: at D = 100 the product of a level then stays in a core's second
#: cache. Longer texts make a batch of their own.
BATCH_WORDS = 800


class Words:
    """The distinct words of a call, each looked up and projected once: h^1 = U' U x.

    Parameters
    ----------
    ids
        (n,) words of the call.
    projection
        U', (D, d).
    matrix
        (D, width) what the units of a level are multiplied with.

    Attributes
    ----------
    units, products
        (m, D) units of the distinct words, and (m, width) the products of these.
    which
        (n,) which of the distinct words each id is.
    """

    def __init__(self, ids: Ints, table: VectorTable, projection: Floats, matrix: Floats) -> None:
        distinct, self.which = _distinct(ids, len(table))
        self.units: Floats = table.rows(distinct) @ projection.T
        self.products: Floats = self.units @ matrix

    def first_level(self, which: Ints, memory: Memory) -> tuple[Floats, Floats]:
        """Units and products of some words, put where a climb wants them."""
        # Without a mode, take makes a copy to throw away should an index be wrong.
        return (
            self.units.take(which, axis=0, out=memory.units[: len(which)], mode="clip"),
            self.products.take(which, axis=0, out=memory.products[: len(which)], mode="clip"),
        )


def _distinct(ids: Ints, n_words: int) -> tuple[Ints, Ints]:
    """The distinct ids in order, and which of them each is; all ids are below ``n_words``."""
    if 8 * len(ids) < n_words:
        return np.unique(ids, return_inverse=True)
    there = np.zeros(n_words, dtype=bool)  # for many ids, faster than to sort them
    there[ids] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[ids]


class Network:
    """The weights of a trained AdaSent, ready to predict.

    Parameters
    ----------
    tensors
        Every tensor of the network but the word table, by name, float32.
    """

    def __init__(
        self, config: AdaSentConfig, table: WordTable, tensors: Mapping[str, np.ndarray]
    ) -> None:
        self.config = config
        self.table: VectorTable = table
        self.projection = tensors["projection.weight"]
        self.composition = Composition.of(config, tensors)
        self.head = LevelHead(tensors, multilabel=config.multilabel)
        self.backend = Backend()

    def on(self, table: VectorTable | None) -> Network:
        """The same network over the words of another table; None is its own."""
        if table is None:
            return self
        other = copy.copy(self)
        other.table = table
        return other

    def classify(self, rows: WordRows) -> Doubles:
        """:meth:`probabilities` of what an encoder gives for texts."""
        return self.on(rows.table).probabilities(rows.ids)

    def probabilities(self, texts: Sequence[Ints]) -> Doubles:
        """Classify texts.

        Parameters
        ----------
        texts
            N texts, each (T,) ids with T at least 1.

        Returns
        -------
        (N, C) probabilities; rows sum to 1, unless a text may have several labels.
        """
        found = np.empty((len(texts), self.config.n_classes))
        # Overflow shows in the result, where settled finds it.
        with np.errstate(over="ignore", invalid="ignore"):
            for group, levels, layout, passes in self._climbs(texts):
                found[group] = self.mix(levels, layout, passes)[-1].T
        return self.settled(found) if len(texts) else found

    def summaries(self, texts: Sequence[Ints]) -> Floats:
        """Vectors of texts.

        Parameters
        ----------
        texts
            As of :meth:`probabilities`.

        Returns
        -------
        (N, 2 D): the mean of a text's pooled levels by the beliefs in them, and its last level, the
        top of the pyramid; both as gate and classifier read them.
        """
        found = np.empty((len(texts), 2 * self.config.hidden_size), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for group, packed, layout, passes in self._climbs(texts):
                firsts = layout.first_level
                levels = self.head.normalise(packed, passes.norm_rows)[layout.level_rows]
                belief = beliefs(self.head.scores(levels), firsts[:-1])
                weighted = belief[:, None] * levels
                found[group, : self.config.hidden_size] = np.add.reduceat(weighted, firsts[:-1])
                found[group, self.config.hidden_size :] = levels[firsts[1:] - 1]
        check_finite(found)
        return found

    def _climbs(self, texts: Sequence[Ints]) -> Iterator[tuple[Ints, Floats, Layout, Passes]]:
        """Positions of some texts and their pooled levels, which the next batch writes over."""
        if not len(texts):
            return
        lengths = np.array([len(ids) for ids in texts], dtype=np.int64)
        groups = batches(lengths, BATCH_WORDS)
        memory = Memory(self.composition, max(int(lengths[group].sum()) for group in groups))
        passes = self.passes(lengths)
        words = self.words(np.concatenate([texts[i] for group in groups for i in group]))
        done = 0
        for group in groups:
            layout = Layout(lengths[group], self.config.max_height)
            which = np.empty_like(layout.word_rows)
            which[layout.word_rows] = words.which[done : done + len(which)]
            done += len(which)
            first = words.first_level(which, memory)
            yield (
                group,
                climb(*first, layout, self.composition, passes, memory).levels,
                layout,
                passes,
            )

    def trace(self, tokens: Sequence[str], ids: Ints) -> Trace:
        """Everything about one text of (T,) ids; the tokens are only passed on."""
        lengths = np.array([len(ids)], dtype=np.int64)
        layout = Layout(lengths, self.config.max_height)
        passes = self.passes(lengths)
        with np.errstate(over="ignore", invalid="ignore"):
            words = self.words(ids)
            first = words.units[words.which], words.products[words.which]
            pyramid = climb(*first, layout, self.composition, passes, keep=True)
            belief, log_probs, mixed = self.mix(pyramid.levels, layout, passes)
        units, gates = pyramid.by_level(layout)
        return Trace(
            tokens=tuple(tokens),
            ids=ids,
            units=tuple(units),
            gates=tuple(gates),
            levels=pyramid.levels,
            beliefs=belief,
            level_probabilities=np.exp(log_probs).T,
            level_log_probs=log_probs.T,
            probabilities=self.settled(mixed.T)[0],
        )

    def passes(self, lengths: Ints) -> Passes:
        """How to climb the pyramids of a call, of texts of (N,) words."""
        return self.backend.passes(self.composition, lengths, self.config.max_height)

    def words(self, ids: Ints) -> Words:
        """The distinct words of a call, and which of them each id is."""
        return Words(ids, self.table, self.projection, self.composition.matrix)

    def mix(
        self, levels: Floats, layout: Layout, passes: Passes
    ) -> tuple[Doubles, Doubles, Doubles]:
        """Packed pooled levels -> beliefs and level predictions, text after text; consensus."""
        levels = self.head.normalise(levels, passes.norm_rows)
        rows, firsts = layout.level_rows, layout.first_level[:-1]
        belief = beliefs(self.head.scores(levels)[rows], firsts)
        log_probs = self.head.log_probs(levels)[:, rows]
        return belief, log_probs, consensus(belief, log_probs, firsts)

    def settled(self, mixed: Doubles) -> Doubles:
        """(n, C) of the consensus without rounding; an error where the network overflowed."""
        return settled(mixed, multilabel=self.head.multilabel)
