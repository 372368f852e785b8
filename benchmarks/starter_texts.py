"""Short texts about films with a negator, for a teacher to label: cut from sentences, and made.

No label is written here. Negators, and the frames that words are put into, are; the words are
those that the sentences themselves put into such places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

#: Words that turn what is near them, as the sentences spell them.
NEGATORS = frozenset((
    "not", "n't", "no", "never", "nothing", "nobody", "none", "neither", "nor", "without",
    "hardly", "barely", "cannot", "far", "less", "lack", "lacks", "lacked", "lacking", "fails",
    "failed",
))  # fmt: skip
#: A phrase does not cross these.
_MARKS = re.compile(r"[.,;:!?()\[\]\"*/-]+|\s-+\s|``|''")
#: Words of a phrase before its negator and after it, at most.
BEFORE, AFTER = 4, 5

#: Kind of word -> what it stands behind in the sentences.
PLACES = {
    "adjective": re.compile(r"\b(?:very|too|quite|pretty|extremely) ([a-z]{3,})\b"),
    "noun": re.compile(r"\b(?:lacks|lacks any|lack of|full of|devoid of) ([a-z]{3,})\b"),
    "verb": re.compile(r"\bdid(?: not|n't| n't) (?:really |even )?([a-z]{3,}) (?:it|this|the)\b"),
    "comparative": re.compile(
        r"\b(?:been|was|is|be|much|far|even|any|lot) "
        r"([a-z]{3,}er|worse|(?:more|less) [a-z]{4,}) than\b"
    ),
}
#: Kind of word -> where it is put.
FRAMES = {
    "adjective": (
        "{}", "very {}", "a {} film", "this film is {}", "everything here is {}", "always {}",
        "not {}", "not {} at all", "not very {}", "not a {} film", "this film is not {}",
        "it is n't {}", "never {}", "it is never {}", "far from {}", "anything but {}",
        "nothing here is {}", "there is nothing {} here", "nothing about it is {}", "hardly {}",
        "no one could call it {}", "could not have been more {}", "could have been more {}",
    ),
    "noun": (
        "{}", "full of {}", "lacks {}", "lacks any {}", "no {}", "without {}", "has no {}",
        "it has {}", "does not lack {}", "never lacks {}",
    ),
    "verb": (
        "i {} it", "i did {} it", "i did not {} it", "i did n't {} it", "you will {} it",
        "i could not {} it", "i {} this film", "i did not {} this film", "nobody will {} it",
    ),
    "comparative": (
        "it is {}", "could be {}", "could have been {}", "could not be {}",
        "could not have been {}", "it could n't have been {}", "it could hardly be {}",
        "should have been {}",
    ),
}  # fmt: skip
#: Too general to say anything, though they stand in such places.
_GENERAL = frozenset((
    "much", "many", "few", "little", "well", "the", "and", "that", "this", "all", "any", "his",
    "her", "its", "they", "you", "what", "some", "often", "very", "late", "early", "long", "like",
    "have", "see", "get", "another", "other", "rather",
))  # fmt: skip


def cut_negated(sentences: Iterable[str], *, seed: int) -> Iterator[str]:
    """Of each sentence with a negator one phrase around it, of a length drawn by the seed.

    A phrase begins and ends between marks. One of two keeps nothing before the negator.
    """
    rng = np.random.default_rng(seed)
    for sentence in sentences:
        for part in _MARKS.split(sentence):
            words = part.lower().replace("n't", " n't").split()
            places = [i for i, word in enumerate(words) if word in NEGATORS]
            if not places:
                continue
            at = places[int(rng.integers(len(places)))]
            before = int(rng.integers(BEFORE + 1)) if rng.random() < 0.5 else 0
            if words[at] == "n't":
                before = max(before, 1)
            end = at + 1 + int(rng.integers(1, AFTER + 1))
            phrase = words[max(0, at - before) : end]
            if len(phrase) > 1:
                yield " ".join(phrase)
                break


def frame_words(sentences: Iterable[str], *, at_least: int, n: int) -> dict[str, list[str]]:
    """The most frequent words of each kind, at most ``n``.

    A word that is out of place there does no harm: the teacher says what it is worth.
    """
    counts = {kind: Counter[str]() for kind in PLACES}
    for sentence in sentences:
        for kind, place in PLACES.items():
            counts[kind].update(place.findall(sentence.lower()))
    return {
        kind: [
            word
            for word, found in sorted(own.items(), key=lambda item: (-item[1], item[0]))
            if found >= at_least and word not in _GENERAL and word not in NEGATORS
        ][:n]
        for kind, own in counts.items()
    }


def framed(words: dict[str, Sequence[str]]) -> list[str]:
    """Every word in every frame of its kind."""
    return [
        frame.format(word)
        for kind, found in words.items()
        for word in found
        for frame in FRAMES[kind]
    ]
