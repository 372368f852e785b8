"""Captions of the paper's figures, from the data that is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction.wording import listed

Data = Mapping[str, Any]


def belief_caption(data: Data) -> str:
    """Which levels are believed most."""
    rows = data["rows"]
    tops = sorted({_top(row["beliefs"]) for row in rows})
    n_words = {len(row["beliefs"]) for row in rows}
    levels = f"level {tops[0]}" if len(tops) == 1 else f"levels {listed([str(t) for t in tops])}"
    return (
        f"Belief in each level of {len(rows)} unseen sentences of 12 words, two of each set. "
        f"Believed most, by one sentence or more: {levels} of {max(n_words)}."
        + (" As the paper says, beliefs vary with sentence and set." if len(tops) > 1 else "")
    )


def example_caption(data: Data) -> str:
    """Whether the most believed level is right by itself."""
    beliefs, votes = data["beliefs"], data["level_probabilities"]
    is_positive = data["label"] == data["positive"]
    right = [level for level, vote in enumerate(votes, 1) if (vote > 0.5) == is_positive]
    top = _top(beliefs)
    said = f"p({data['positive']})"
    verdict = "right" if top in right else "wrong"
    consensus = "right" if (data["probability"] > 0.5) == is_positive else "wrong"
    text = (
        f"The paper's sentence, which is {data['label']}: above, the belief in each level, below, "
        f"{said} by that level alone. In the paper the first level is believed most and is right. "
        f"Here level {top} is believed most ({beliefs[top - 1]:.3f}) and is {verdict} by itself "
        f"({said} = {votes[top - 1]:.3f}). {len(right)} of {len(votes)} levels are right by "
        f"themselves; the consensus is {consensus} ({said} = {data['probability']:.3f})."
    )
    if verdict == "wrong":
        text += " This is not an example of the gate finding the right level."
    return text


def pca_caption(data: Data) -> str:
    """What is drawn, and which system's classes stand further apart."""
    panels: Sequence[Data] = data["panels"]
    unseen_only = all(panel.get("drawn") == "unseen" for panel in panels)
    drawn = (
        "Only texts that no model was trained on are drawn; axes and centres are those of training "
        "texts."
        if unseen_only
        else "2,000 texts of each set are drawn at random, nine in ten of them training texts, so "
        "that the picture is not one of unseen texts."
    )
    apart = {(panel["data"], panel["system"]): panel["separated"] for panel in panels}
    sets = list(dict.fromkeys(panel["data"] for panel in panels))
    shares = [
        f"{100 * apart[d, 'AdaSent']:.1f} % (AdaSent) and {100 * apart[d, 'cBoW']:.1f} % (cBoW) "
        f"on {d}"
        for d in sets
    ]
    further = [d for d in sets if apart[d, "AdaSent"] > apart[d, "cBoW"]]
    return (
        "First two principal components of the level that AdaSent believes most (left) and of "
        f"cBoW's pooled words (right). {drawn} Of the unseen ones, nearest to the centre of their "
        f"own class are {listed(shares)}. AdaSent's classes stand further apart on: "
        f"{listed(further)}."
    )


def composition_caption(data: Data) -> str:
    """How exactly the parts make up the units, and trees do not."""
    phrases = data["phrases"]
    error = max(phrase["unit_error"] for phrase in phrases)
    (first, *_) = [phrase for phrase in phrases if "trees" in phrase]
    return (
        "Units taken apart into words and compositions, each cell above the words it covers, with "
        "its share of the unit. The parts of each phrase make up its unit to within "
        f"{error:.0e}. The paper's figure also goes inside compositions, and that is not exact: "
        f"composed along its {len(first['trees'])} trees, “{' '.join(first['tokens'])}” misses its "
        f"unit by up to {first['tree_error']:.1g}, because a composition of a mixture is not the "
        "mixture of the compositions."
    )


def _top(beliefs: Sequence[float]) -> int:
    """The most believed level, from 1."""
    return 1 + max(range(len(beliefs)), key=beliefs.__getitem__)
