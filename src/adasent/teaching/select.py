"""Many sentences -> those worth a label: near to the training texts, or of classes in balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from adasent.text.tokenize import Tokenizer, run_tokenizer


def nearness(sentences: Sequence[str], texts: Sequence[str], *, tokenizer: Tokenizer) -> np.ndarray:
    """(N,) how much more each sentence resembles the texts than it resembles the other sentences.

    The mean over its words of the log of how much more frequent a word is in the texts: Moore and
    Lewis' difference of cross-entropies (2010), of single words. A word that one side lacks counts
    there as half of a word that it has once.
    """
    here, there = _counts(texts, tokenizer), _counts(sentences, tokenizer)
    n_here, n_there = sum(here.values()) + 1, sum(there.values()) + 1
    known = {
        word: np.log(max(here[word], 0.5) / n_here) - np.log(n / n_there)
        for word, n in there.items()
    }
    scores = np.zeros(len(sentences))
    for i, sentence in enumerate(sentences):
        tokens = run_tokenizer(tokenizer, sentence)
        scores[i] = sum(known[token] for token in tokens) / max(1, len(tokens))
    return scores


def highest(scores: np.ndarray, n: int) -> np.ndarray:
    """(n,) ascending positions of the highest scores; of equal ones the first are taken."""
    return np.sort(np.argsort(-scores, kind="stable")[:n])


def in_balance(
    probabilities: np.ndarray, shares: np.ndarray, n: int, scores: np.ndarray | None = None
) -> np.ndarray:
    """At most ``n`` ascending positions, of each class as many as its share of them.

    Parameters
    ----------
    probabilities
        (N, C) of the teacher; a sentence belongs to its most probable class.
    shares
        (C,) of the classes, as among the training texts.
    scores
        (N,) which are taken first within a class; None for the teacher's confidence.
    """
    found = probabilities.argmax(axis=1)
    ranked = probabilities.max(axis=1) if scores is None else scores
    chosen = []
    for number, share in enumerate((shares / shares.sum()).tolist()):
        members = np.flatnonzero(found == number)
        chosen.append(members[highest(ranked[members], round(share * n))])
    return np.sort(np.concatenate(chosen))


def _counts(texts: Iterable[str], tokenizer: Tokenizer) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(run_tokenizer(tokenizer, text))
    return counts
