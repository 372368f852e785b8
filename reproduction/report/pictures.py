"""The data of the figures in; the figures with captions that say what they show, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reproduction.catalog import Catalog
from reproduction.figures import FIGURES
from reproduction.paper import paper
from reproduction.report.blocks import Block, Picture, Prose, Section
from reproduction.wording import counted, listed


def pictures(catalog: Catalog) -> Section:
    """The paper's four figures, from our models."""
    blocks: list[Block] = [
        Prose(
            "In the paper's form, from AdaSent with default settings, trained on one training part "
            "of each set. `adasent reproduce NAME` says the same in figures."
        )
    ]
    for name in FIGURES:
        data = catalog.figure(name)
        if data is None:
            blocks.append(Prose(f"`{name}` has not been computed yet."))
        else:
            blocks.append(Picture(data, f"{_CAPTIONS[name](data)} {_models(data)}"))
    return Section("Figures", tuple(blocks))


def _models(data: Mapping[str, Any]) -> str:
    models = [
        f"{model['data']} {100 * model['accuracy']:.1f} on its {model['n_test']:,} test texts"
        for model in data["models"]
    ]
    return f"(Models: {listed(models)}.)"


def _belief(data: Mapping[str, Any]) -> str:
    rows = data["rows"]
    favourites = [1 + row["beliefs"].index(max(row["beliefs"])) for row in rows]
    n_levels = len(set(favourites))
    levels = listed([str(level) for level in sorted(set(favourites))])
    spread = (
        f"the most believed level is one of {n_levels} ({levels})"
        if n_levels > 1
        else f"the most believed level is {favourites[0]} in every one of them"
    )
    verdict = (
        "as the paper says, beliefs vary with the sentence and the set"
        if n_levels > 1
        else "the paper says that beliefs vary with the sentence; here they hardly do"
    )
    return (
        f"Belief in each level of {counted(len(rows), 'unseen sentence')} of "
        f"{paper()['figures']['belief']['length']} words, two of each set: {spread}; {verdict}."
    )


def _example(data: Mapping[str, Any]) -> str:
    beliefs, votes = data["beliefs"], data["level_probabilities"]
    is_positive = data["label"] == data["positive"]
    right = [(vote > 0.5) == is_positive for vote in votes]
    top = beliefs.index(max(beliefs))
    consensus = (data["probability"] > 0.5) == is_positive
    first = "as in the paper" if top == 0 else "in the paper it is the first"
    return (
        f"The paper's sentence, which is {data['label']}; above the belief in each level, below "
        f"p({data['positive']}) by that level alone. {sum(right)} of {len(right)} levels are right "
        f"by themselves. Level {top + 1} is believed the most ({first}); the consensus is "
        f"{'right' if consensus else 'wrong'}, p({data['positive']}) = {data['probability']:.2f}."
    )


def _pca(data: Mapping[str, Any]) -> str:
    shares: dict[str, dict[str, float]] = {}
    for panel in data["panels"]:
        shares.setdefault(panel["data"], {})[panel["system"]] = 100 * panel["separated"]
    figures = [
        f"{name} " + " against ".join(f"{share:.1f} ({system})" for system, share in of.items())
        for name, of in shares.items()
    ]
    n_ahead = sum(of["AdaSent"] > of["cBoW"] for of in shares.values())
    drawn = max(len(panel["points"]) for panel in data["panels"])
    return (
        "First two principal components of every sentence: the pooled level that AdaSent believes "
        f"most (left) and cBoW's pooled words (right); at most {drawn:,} texts drawn. Unseen texts "
        f"nearest to the centre of their class, in percent: {listed(figures)}. AdaSent's classes "
        f"stand further apart on {n_ahead} of {counted(len(shares), 'set')}."
    )


def _composition(data: Mapping[str, Any]) -> str:
    lines = [
        "Units taken apart into words and compositions, each cell above the words it covers, with "
        "its share of the unit."
    ]
    for phrase in data["phrases"]:
        line = (
            f"“{' '.join(phrase['tokens'])}”: {len(phrase['parts'])} parts, whose weights sum to 1 "
            f"within {_small(phrase['weight_error'])} and which make up the unit within "
            f"{_small(phrase['unit_error'])}."
        )
        if "trees" in phrase:
            line += (
                f" The paper's figure also goes inside compositions: {len(phrase['trees'])} trees, "
                f"whose vectors miss the unit by up to {_small(phrase['tree_error'])}, because a "
                "composition of a mixture is not the mixture of the compositions. The convex "
                "combination is exact down to compositions, and not beyond."
            )
        lines.append(line)
    return " ".join(lines)


def _small(error: float) -> str:
    return f"{error:.0e}" if error else "0"


_CAPTIONS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "fig-belief": _belief,
    "fig-example": _example,
    "fig-pca": _pca,
    "fig-composition": _composition,
}
