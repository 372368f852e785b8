"""AdaSent in numpy: ids of texts in; probabilities, or everything on the way to them, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adasent.errors import AdaSentError
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.consensus import beliefs, consensus
from adasent.runtime.levels import LevelHead
from adasent.runtime.packing import Packing, batches
from adasent.runtime.phrases import PhraseCache, Phrases
from adasent.runtime.pyramid import Compiler, Composition, Scratch, climb, pool_levels
from adasent.runtime.trace import Trace
from adasent.runtime.words import Words
from adasent.saving.word_table import WordTable
from adasent.systems.config import AdaSentConfig


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
        self.table = table
        self.projection = tensors["projection.weight"]
        self.composition = Composition.of(config, tensors)
        self.head = LevelHead(tensors)
        self.compiler = Compiler()

    def probabilities(self, texts: Sequence[Ints], phrases: PhraseCache | None = None) -> Doubles:
        """Classify texts.

        Parameters
        ----------
        texts
            N texts, each (T,) ids with T at least 1.
        phrases
            Shares short phrases among texts and calls; None shares none.

        Returns
        -------
        (N, C) probabilities; rows sum to 1.
        """
        found = np.empty((len(texts), self.config.n_classes))
        if not len(texts):
            return found
        lengths = np.array([len(ids) for ids in texts], dtype=np.int64)
        groups = batches(lengths)
        scratch = Scratch(self.composition, max(int(lengths[group].sum()) for group in groups))
        cells = self.compiler.cells(self.composition, lengths)
        # Overflow shows in the result, where normalised finds it.
        with np.errstate(over="ignore", invalid="ignore"):
            words = self.words(np.concatenate([texts[i] for group in groups for i in group]))
            done = 0
            for group in groups:
                packing = Packing.of(lengths[group])
                which = np.empty_like(packing.rows)
                which[packing.rows] = words.which[done : done + len(which)]
                done += len(which)
                levels = np.empty((len(which), self.config.hidden_size), dtype=np.float32)
                if phrases is None:
                    first = words.units[which], words.products[which]
                    pool_levels(*first, packing.counts, self.composition, levels, scratch, cells)
                else:
                    known = Phrases(words.units, words.ids, words.ids)
                    phrases.climb(known, which, packing.counts, levels, scratch, cells)
                found[group] = self._mix(levels, packing)[-1].T
        return normalised(found)

    def trace(self, tokens: Sequence[str], ids: Ints) -> Trace:
        """Everything about one text of (T,) ids; the tokens are only passed on."""
        lengths = np.array([len(ids)], dtype=np.int64)
        packing = Packing.of(lengths)
        scratch = Scratch(self.composition, len(ids))
        cells = self.compiler.cells(self.composition, lengths)
        levels = np.empty((len(ids), self.config.hidden_size), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            words = self.words(ids)
            first = words.units[words.which], words.products[words.which]
            climbed = climb(*first, packing.counts, self.composition, levels, scratch, cells)
            kept = [(level.units.copy(), level.gates.copy()) for level in climbed]
            belief, log_probs, mixed = self._mix(levels, packing)
        return Trace(
            tokens=tuple(tokens),
            ids=ids,
            units=tuple(units for units, _ in kept),
            gates=tuple(gates for _, gates in kept[1:]),
            levels=levels,
            beliefs=belief,
            level_probabilities=np.exp(log_probs).T,
            level_log_probs=log_probs.T,
            probabilities=normalised(mixed.T)[0],
        )

    def words(self, ids: Ints) -> Words:
        """The distinct words of a call, and which of them each id is."""
        return Words(ids, self.table, self.projection, self.composition.matrix)

    def _mix(self, levels: Floats, packing: Packing) -> tuple[Doubles, Doubles, Doubles]:
        """Packed pooled levels -> beliefs and level predictions, text after text; consensus."""
        levels = self.head.normalise(levels)
        belief = beliefs(self.head.scores(levels)[packing.rows], packing.firsts)
        log_probs = self.head.log_probs(levels)[:, packing.rows]
        return belief, log_probs, consensus(belief, log_probs, packing.firsts)


def normalised(probabilities: Doubles) -> Doubles:
    """Rows that sum to 1 exactly, or an error where the network overflowed."""
    total: Doubles = probabilities.sum(axis=1, keepdims=True)
    if not (np.isfinite(total) & (total > 0)).all():
        raise AdaSentError(
            "the network overflows on these texts; its weights are far too large: "
            "train again with a lower learning_rate, a higher penalty or activation='tanh'"
        )
    return probabilities / total
