"""Which words of a text act together: its phrases, what they add, and what of that is the joining.

A phrase is found where words say together what they do not say one by one: "not bad" speaks for
what neither "not" nor "bad" speaks for. Every stretch of at most :data:`LONGEST` words is asked for
alone, as a text of its own, and held against all ways of cutting it in two: how much more it says
than either part, and than both added up, is its strength. So two words that say the same thing
twice make no phrase, nor does a strong word that drowns a weak one, nor a phrase with a word beside
it that changes nothing.

The strongest are then asked in the text as well, and kept if in the mean of both places, by itself
and among all the other words, they still say more together than their words one by one. That
difference is the interaction; of two words, it is how Shapley's values see a pair at both ends.

Phrases do not overlap; all other words stand by themselves. The score of a phrase is the sum of
those of its words, so that the phrases of a text add up as its words do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from adasent.explain.shapley import Masks, Worth
from adasent.runtime.arrays import Doubles, Ints

#: Words of a phrase.
LONGEST = 6
#: What a phrase has to say beyond its parts, in probability.
LEAST = 0.1
#: Phrases that are asked in the text, and units of the pyramids that this may take in all.
MOST_ASKED, ASKED_UNITS = 6, 30_000


Span: TypeAlias = tuple[int, int]
"""First word, and word after the last."""


class FoundPhrases(NamedTuple):
    """The P phrases of a text, those that add most to any class first."""

    bounds: Ints  # (P, 2) first word, and word after the last
    scores: Doubles  # (P, C)
    interactions: Doubles  # (P, C) what each adds beyond its words; 0 for one word


def find_phrases(worth: Worth, words: Doubles, *, in_text: bool) -> FoundPhrases:
    """The phrases of a text.

    Parameters
    ----------
    worth
        What parts of the text are worth.
    words
        (T, C) scores of its words.
    in_text
        Whether a phrase has to act together in the text too, unless that is too long to be asked;
        False takes what it does alone.
    """
    n, n_classes = words.shape
    candidates = _alone(worth, n)
    n_asked = min(MOST_ASKED, ASKED_UNITS // (2 * n * n))
    if in_text and n_asked:
        candidates = _in_text(worth, candidates[:n_asked], n)
    chosen: dict[Span, Doubles] = {}
    taken = np.zeros(n, dtype=bool)
    for one in candidates:
        here = slice(*one.span)
        if not taken[here].any():
            taken[here] = True
            chosen[one.span] = one.interaction
    chosen |= {(i, i + 1): np.zeros(n_classes) for i in np.flatnonzero(~taken).tolist()}
    scores = np.array([words[start:end].sum(axis=0) for start, end in chosen])
    order = np.argsort(-scores.max(axis=1), kind="stable")
    return FoundPhrases(
        np.array(list(chosen))[order], scores[order], np.array(list(chosen.values()))[order]
    )


class _Candidate(NamedTuple):
    span: Span
    joint: Doubles  # (C,) what its words do together
    words: Doubles  # (n, C) what they do one by one
    strength: float

    @property
    def interaction(self) -> Doubles:
        """(C,) what they do together and not one by one."""
        found: Doubles = self.joint - self.words.sum(axis=0)
        return found


def _alone(worth: Worth, n: int) -> list[_Candidate]:
    """Stretches that act together as texts of their own, the strongest first."""
    spans = [(i, i + size) for size in range(1, min(n, LONGEST) + 1) for i in range(n + 1 - size)]
    answers = worth(_masks([(), *(range(*span) for span in spans)], n))
    says = dict(zip(spans, answers[1:] - answers[0], strict=True))
    found = []
    for start, end in spans[n:]:
        joint = says[start, end]
        words = np.array([says[i, i + 1] for i in range(start, end)])
        halves = np.array([[says[start, cut], says[cut, end]] for cut in range(start + 1, end)])
        found.append(_Candidate((start, end), joint, words, _strength(joint, halves)))
    return _strongest(found)


def _in_text(worth: Worth, candidates: Sequence[_Candidate], n: int) -> list[_Candidate]:
    """Those that still act together when their text counts as well, the strongest first."""
    groups: list[Iterable[int]] = [range(n)]
    for one in candidates:
        rest = {*range(n)} - {*range(*one.span)}
        groups += [rest, *(rest | {i} for i in range(*one.span))]
    whole, *answers = worth(_masks(groups, n))
    found = []
    for one in candidates:
        rest, *with_one = answers[: 1 + len(one.words)]
        answers = answers[1 + len(one.words) :]
        joint = (one.joint + whole - rest) / 2
        words = (one.words + with_one - rest) / 2
        strength = min(one.strength, _strength(joint, words[None]))
        found.append(_Candidate(one.span, joint, words, strength))
    return _strongest(found)


def _strength(joint: Doubles, parts: Doubles) -> float:
    """How much more is said together (C,), for some class, than by parts in any of n ways.

    Parameters
    ----------
    parts
        (n, k, C) what each of k parts says.
    """
    sign = np.sign(joint)
    most = np.maximum((sign * parts).max(axis=1), sign * parts.sum(axis=1)).max(axis=0)
    return float((np.abs(joint) - np.maximum(most, 0.0)).max())


def _strongest(candidates: list[_Candidate]) -> list[_Candidate]:
    kept = [one for one in candidates if one.strength >= LEAST]
    return sorted(kept, key=lambda one: -one.strength)


def _masks(groups: Sequence[Iterable[int]], n: int) -> Masks:
    masks = np.zeros((len(groups), n), dtype=bool)
    for mask, group in zip(masks, groups, strict=True):
        mask[list(group)] = True
    return masks
