"""Binary trees over the tokens of texts: the treebank's where it may be used, else a parser's.

From the whole sentence down, every span is split at the gap of the highest score, which is linear
in features of the tokens beside the gap and at both ends of the span. Learning is convex: at every
node of the treebank the right gap competes with the others of that node by a softmax.

A treebank may hold some texts of a data set and not others, and that can give the label away: the
Stanford treebank has 4,157 sentences of SUBJ, every one of them subjective. Such a set is parsed
as a whole, by a parser that has seen none of it (:meth:`Treebank.without`).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from adasent.data.fetch import fetch
from adasent.data.trees import Treebank, binary_heights, read_trees, spans
from adasent.errors import DataError
from adasent.text.tokenize import get_tokenizer

#: Benchmarks whose own trees are used. The bank holds nearly all of MR in both classes, and about
#: half of the training questions of TREC, 47 to 55 % of each class. CR, SUBJ and MPQA are parsed.
WITH_TREEBANK = ("MR", "TREC")
#: Registered sets of trees.
TREEBANKS = ("sst", "questionbank")

#: Rows of the weight table; features share a row where their hashes meet.
N_ROWS = 1 << 18
_EPOCHS = 3
_BATCH = 64
_RATE = 0.1
_SUFFIX = 3


class SpanParser:
    """A trained parser; the same treebank gives the same parser.

    Its weights, (N_ROWS,) float32, are all there is to save.
    """

    def __init__(self, weights: np.ndarray) -> None:
        if weights.shape != (N_ROWS,):
            raise DataError(
                f"span parser: expected {N_ROWS} weights, got an array of shape {weights.shape}; "
                "pass the weights of a parser that was trained by this version"
            )
        self.weights = weights.astype(np.float32)
        # Folds of one set parse the same sentences over and over.
        self._known = lru_cache(maxsize=2**16)(self._heights)

    @classmethod
    def fit(cls, examples: Iterable[tuple[Sequence[str], np.ndarray]]) -> SpanParser:
        """Learn from tokens and the heights of their trees.

        Parameters
        ----------
        examples
            As from :meth:`adasent.data.trees.Treebank.examples`, by the tokenizer of the texts to
            be parsed. A tree of two words or one teaches nothing.
        """
        corpus = [_Example(tokens, heights) for tokens, heights in examples if len(tokens) > 2]
        if not corpus:
            raise DataError(
                "span parser: expected trees of three words or more, got none; "
                "check the treebank and the tokenizer"
            )
        rng = np.random.default_rng(0)
        weights, total, squares = np.zeros(N_ROWS), np.zeros(N_ROWS), np.full(N_ROWS, 1e-8)
        n_steps = 0
        for _ in range(_EPOCHS):
            order = rng.permutation(len(corpus))
            for start in range(0, len(order), _BATCH):
                gradient = _gradient(weights, [corpus[i] for i in order[start : start + _BATCH]])
                squares += gradient**2
                weights -= _RATE * gradient / np.sqrt(squares)
                total += weights  # the average of all steps generalises better than the last
                n_steps += 1
        return cls((total / n_steps).astype(np.float32))

    def __deepcopy__(self, memo: dict[int, Any]) -> SpanParser:
        """Itself: nothing here changes, and a copy would have to parse everything anew."""
        return self

    def __call__(self, tokens: Sequence[str]) -> np.ndarray:
        """Heights (n,) of the tree over n tokens; a text without tokens has one word."""
        return self._known(tuple(tokens))

    def _heights(self, tokens: tuple[str, ...]) -> np.ndarray:
        n = len(tokens)
        if n < 2:
            return np.zeros(1, dtype=np.int64)
        sentence = _Sentence(tokens)
        depths = np.zeros(n - 1, dtype=np.int64)
        open_spans = [(0, n, 1)]
        while open_spans:
            start, end, depth = open_spans.pop()
            gaps = np.arange(start, end - 1)
            scores = self.weights[sentence.features(gaps, start, end)].sum(axis=0)
            gap = start + int(scores.argmax())
            depths[gap] = depth
            parts = ((start, gap + 1, depth + 1), (gap + 1, end, depth + 1))
            open_spans += [part for part in parts if part[1] - part[0] > 1]
        return binary_heights(depths)


class _Sentence:
    """Hashed tokens of a sentence, and features of a gap that would split a span of it."""

    def __init__(self, tokens: Sequence[str]) -> None:
        padded = ["", "", *tokens, "", ""]
        self.words = np.array([zlib.crc32(_bytes(t)) for t in padded], dtype=np.uint64)
        self.ends = np.array([zlib.crc32(_bytes(t[-_SUFFIX:])) for t in padded], dtype=np.uint64)

    def features(
        self, gaps: np.ndarray, starts: int | np.ndarray, ends: int | np.ndarray
    ) -> np.ndarray:
        """(F, n) weight rows of n gaps, each in the span start:end of its own or of all."""
        # Letters: a, b, c, d are the tokens around the gap, which lies between b and c; f and l
        # the first and last token of the span, p and q those before and after it. Capitals are
        # whole words, small ones their endings; m and n the sizes of the two parts.
        A, B, C, D = (self.words[gaps + i] for i in (1, 2, 3, 4))
        a, b, c, d = (self.ends[gaps + i] for i in (1, 2, 3, 4))
        none = np.zeros_like(A)
        first, last = starts + 2, ends + 1
        P, F, L, Q = (none + self.words[i] for i in (first - 1, first, last, last + 1))
        f, l = none + self.ends[first], none + self.ends[last]  # noqa: E741
        m, n = _size(gaps - starts + 1), _size(ends - gaps - 1)
        features = [
            *[(A,), (B,), (C,), (D,), (a,), (b,), (c,), (d,)],
            *[(B, C), (b, c), (a, b), (c, d), (B, c), (b, C)],
            *[(m,), (n,), (m, n), (m, B), (m, C), (n, B), (n, C), (m, F), (n, L)],
            *[(F, C), (F, B), (L, C), (L, B), (P, C), (Q, C), (Q, B), (f, c, m), (l, b, n)],
        ]
        columns = np.array([(*parts, none, none)[:3] for parts in features])  # (F, 3, n)
        rows = np.arange(1, len(features) + 1, dtype=np.uint64)[:, None]
        for i in range(3):
            rows = (rows ^ columns[:, i]) * np.uint64(0x9E3779B97F4A7C15)
            rows ^= rows >> np.uint64(29)
        return (rows % np.uint64(N_ROWS)).astype(np.int32)


def _size(n_tokens: np.ndarray) -> np.ndarray:
    """Sizes 1 to 4, 5 to 6, 7 to 10 and above apart."""
    return np.searchsorted([1, 2, 3, 4, 6, 10], n_tokens).astype(np.uint64)


class _Example:
    """A sentence to learn from: all gaps of all nodes in which there is a choice, end to end."""

    def __init__(self, tokens: Sequence[str], heights: np.ndarray) -> None:
        nodes = np.array([node for node in spans(heights) if node[2] - node[0] > 2])
        sizes = nodes[:, 2] - nodes[:, 0] - 1
        gaps = np.concatenate([np.arange(start, end - 1) for start, _, end in nodes])
        start, end = np.repeat(nodes[:, 0], sizes), np.repeat(nodes[:, 2], sizes)
        self.features = _Sentence(tokens).features(gaps, start, end)  # (F, n) weight rows
        # Where the gaps of each node begin among the n, and which of them splits it.
        self.starts = np.cumsum(sizes) - sizes
        self.winners = self.starts + nodes[:, 1] - 1 - nodes[:, 0]


def _gradient(weights: np.ndarray, batch: Sequence[_Example]) -> np.ndarray:
    """Gradient of the mean loss a sentence."""
    features = np.concatenate([one.features for one in batch], axis=1)
    offsets = np.cumsum([0, *(one.features.shape[1] for one in batch[:-1])])
    pairs = list(zip(batch, offsets, strict=True))
    starts = np.concatenate([one.starts + offset for one, offset in pairs])
    winners = np.concatenate([one.winners + offset for one, offset in pairs])
    n_features, n_gaps = features.shape
    sizes = np.diff([*starts, n_gaps])
    scores = weights[features].sum(axis=0)
    powers = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    slope = powers / np.repeat(np.add.reduceat(powers, starts), sizes)
    slope[winners] -= 1
    return np.bincount(features.ravel(), np.tile(slope / len(batch), n_features), N_ROWS)


def parse_texts(
    texts: Sequence[str],
    tokenised: Sequence[Sequence[str]],
    parser: SpanParser,
    treebank: Treebank | None = None,
) -> list[np.ndarray]:
    """The heights of the tree of each text over its tokens; see :mod:`adasent.data.trees`.

    Parameters
    ----------
    tokenised
        Tokens of each text, cut or not; a text without tokens counts as one word.
    treebank
        Where to look first; None parses all.
    """
    heights = []
    for text, tokens in zip(texts, tokenised, strict=True):
        found = None if treebank is None else treebank.heights(text, tokens)
        heights.append(parser(tokens) if found is None else found)
    return heights


@cache
def treebank() -> Treebank:
    """The registered treebanks together; fetched when first asked for."""
    return Treebank(tree for name in TREEBANKS for path in fetch(name) for tree in read_trees(path))


@cache
def treebank_parser(tokenizer: str) -> SpanParser:
    """A parser for the tokens of a named tokenizer, from the registered treebanks; half a minute.

    It has seen all of them: to parse a set of which they hold one class more than another, fit a
    parser on :meth:`Treebank.without` its texts.
    """
    return SpanParser.fit(treebank().examples(get_tokenizer(tokenizer)))


def _bytes(token: str) -> bytes:
    """What is hashed of a token, which may hold halves of characters."""
    return token.encode("utf-8", "surrogatepass")
