"""Computes the data of the paper's four figures from models and texts, as JSON values.

What is drawn is what is stored, so a figure can be drawn again without its model; ``plots`` draws,
``figure_tables`` says the same in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adasent.data import Corpus
from adasent.data.corpus import Indices, Label
from adasent.errors import DataError
from adasent.estimators.predictor import Predictor
from adasent.explain.composition import (
    MAX_TREE_WORDS,
    Tree,
    decompose_phrase,
    structures,
)
from adasent.runtime.arrays import Doubles
from reproduction.paper import paper

FIGURES = ("fig-belief", "fig-example", "fig-pca", "fig-composition")
#: Words of a sentence that fig-belief quotes: enough to find it again by its position.
_N_QUOTED = 5
#: Points of a panel of fig-pca; more would hide each other.
_MAX_POINTS = 2_000
#: Phrases of fig-composition: the paper's length, and up to 8 words.
PHRASES = ("not very good", "an ambition to say something about its subjects")


def belief_rows(
    data: str, predictor: Predictor, corpus: Corpus, unseen: Indices, seed: int = 0
) -> list[dict[str, Any]]:
    """Unseen sentences of the paper's length, and how much the model believes each of their levels.

    Parameters
    ----------
    unseen
        Positions to draw from.

    Raises
    ------
    DataError
        If there are not enough of that length.
    """
    facts = paper()["figures"]["belief"]
    n, length = facts["per_set"], facts["length"]
    order = np.random.default_rng(seed).permutation(unseen).tolist()
    tokenizer = predictor.encoder.tokenizer
    fitting = [i for i in order if len(tokenizer(corpus.texts[i])) == length]
    if len(fitting) < n:
        raise DataError(
            f"{data}: expected {n} unseen texts of {length} words, found {len(fitting)}; "
            "use a model that was trained on other folds"
        )
    rows = []
    for position in fitting[:n]:
        trace = predictor.trace(corpus.texts[position])
        rows.append(
            {
                "data": data,
                "position": position,
                "text": _quote(trace.tokens),
                "beliefs": _short(trace.beliefs),
            }
        )
    return rows


def example(predictor: Predictor, text: str, label: Label, positive: Label) -> dict[str, Any]:
    """The beliefs in the levels of a sentence, and what each level says.

    Parameters
    ----------
    label
        The true one.
    positive
        The class whose probability is shown, y = 1 in the paper.
    """
    trace = predictor.trace(text)
    column = predictor.classes_.tolist().index(positive)
    return {
        "text": " ".join(trace.tokens),
        "label": label,
        "positive": positive,
        "beliefs": _short(trace.beliefs),
        "level_probabilities": _short(trace.level_probabilities[:, column]),
        "probability": _short(trace.probabilities)[column],
    }


def find_example(corpus: Corpus) -> int:
    """The position of the sentence of the paper's figure; the paper leaves its punctuation out."""
    wanted = _letters(paper()["figures"]["example"]["sentence"])[:60]
    for position, text in enumerate(corpus.texts):
        if _letters(text).startswith(wanted):
            return position
    raise DataError(f"{corpus.name} does not hold the sentence of the paper's figure")


def most_believed(predictor: Predictor, texts: Sequence[str]) -> Doubles:
    """(N, D) of each text the pooled level with the largest belief."""
    rows = []
    for text in texts:  # one at a time: a trace holds every unit of its text
        trace = predictor.trace(text)
        rows.append(trace.levels[int(trace.beliefs.argmax())])
    return np.stack(rows).astype(np.float64)


def pooled_words(estimator: Any, texts: Sequence[str]) -> Doubles:
    """(N, d) of each text the pooled word vectors of a fitted cBoW."""
    embedding = estimator.model_.embedding
    parts = [part.detach().cpu().numpy() for part in (embedding.trained, embedding.fixed)]
    table = np.concatenate(parts).astype(np.float64)
    pool = np.max if estimator.model_.config.pooling == "max" else np.mean
    return np.stack([pool(table[ids], axis=0) for ids in estimator.encoder_(texts)])


def pca_panel(
    data: str, system: str, features: Doubles, labels: Sequence[Label], unseen: Indices
) -> dict[str, Any]:
    """The first two principal components of (N, D) features, and how far classes stand apart.

    Axes and the centres of the classes are those of texts that the model was trained on; the
    points that are drawn are of the others. ``separated`` is the share of all these that are
    nearest to the centre of their own class.

    Parameters
    ----------
    unseen
        Positions of the texts that the model was not trained on.
    """
    trained = np.setdiff1d(np.arange(len(labels)), unseen)
    points, explained = principal_components(features, trained)
    classes = list(dict.fromkeys(labels))
    codes = np.array([classes.index(label) for label in labels])
    seen = np.ones(len(codes), dtype=bool)
    seen[unseen] = False
    centres = np.stack([points[seen & (codes == i)].mean(axis=0) for i in range(len(classes))])
    distances = ((points[~seen, None] - centres) ** 2).sum(axis=2)
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(~seen))[:_MAX_POINTS]
    return {
        "data": data,
        "system": system,
        "drawn": "unseen",
        "n": len(codes),
        "n_unseen": int((~seen).sum()),
        "classes": classes,
        "codes": codes[drawn].tolist(),
        "points": [[float(f"{x:.3g}"), float(f"{y:.3g}")] for x, y in points[drawn].tolist()],
        "explained": _short(explained),
        "separated": float((distances.argmin(axis=1) == codes[~seen]).mean()),
    }


def principal_components(
    features: Doubles, fitted: Indices | None = None, n: int = 2
) -> tuple[Doubles, Doubles]:
    """(N, n) coordinates and (n,) shares of the variance; signs are fixed, so that runs agree.

    Parameters
    ----------
    fitted
        Rows that the axes are found by; None for all.
    """
    rows = features if fitted is None else features[fitted]
    centred = features - rows.mean(axis=0)
    _, values, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    largest = np.abs(axes[:n]).argmax(axis=1)
    axes = axes[:n] * np.sign(axes[np.arange(len(largest)), largest])[:, None]
    variance = values**2
    return centred @ axes.T, variance[:n] / variance.sum()


def composition_phrase(predictor: Predictor, text: str) -> dict[str, Any]:
    """The unit of a phrase taken apart, with how exactly the parts make it up again."""
    tokens, found = decompose_phrase(predictor, text)
    phrase: dict[str, Any] = {
        "tokens": list(tokens),
        "parts": [
            {
                "start": part.start,
                "length": part.length,
                "weight": part.weight,
                "n_ways": part.n_ways,
            }
            for part in found.parts
        ],
        "weight_error": abs(sum(part.weight for part in found.parts) - 1),
        "unit_error": float(np.abs(found.reproduced() - found.unit).max()),
    }
    if len(tokens) <= MAX_TREE_WORDS:
        words = np.stack([part.vector for part in found.parts[: len(tokens)]])
        trees = structures(words, predictor.network.composition)
        along = sum(tree.weight * tree.vector for tree in trees)
        phrase["trees"] = [
            {"tree": tree_text(tree.tree, tokens), "weight": tree.weight} for tree in trees
        ]
        # How far the paper's reading is from exact: see the module of the decomposition.
        phrase["tree_error"] = float(np.abs(along - found.unit).max())
    return phrase


def tree_text(tree: Tree, tokens: Sequence[str]) -> str:
    """``((not very) good)``."""
    if isinstance(tree, int):
        return tokens[tree]
    return f"({tree_text(tree[0], tokens)} {tree_text(tree[1], tokens)})"


def check_figure(name: str, values: Any) -> Mapping[str, Any]:
    """What was read from a file, if it is the data of that figure."""
    if not isinstance(values, dict) or values.get("figure") != name:
        raise DataError(
            f"expected the data of {name}, got something else; compute it again with run"
        )
    return values


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalpha())


def _quote(tokens: Sequence[str]) -> str:
    """The first words; the whole text stays with its distributor."""
    return " ".join(tokens[:_N_QUOTED]) + (" …" if len(tokens) > _N_QUOTED else "")


def _short(values: Any) -> list[float]:
    return [float(f"{value:.6g}") for value in np.asarray(values).tolist()]
