"""After training: what the validation part says of a network, and its calibration by it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import torch

from adasent.estimators.encoding import Encoded
from adasent.estimators.prediction import network_votes
from adasent.training.calibration import Votes, fit_temperature, measure, skipped
from adasent.training.examples import Examples
from adasent.training.run import Run

#: Texts whose word vectors are asked for at once; those of an encoder take room.
_PART = 1024


def look_back(run: Run, encoded: Encoded) -> dict[str, Any]:
    """Calibrate the network of a finished run, if it wants it, and try it on its validation part.

    It has to be done before ``encoded.source.finish``, while the network has all words at hand.

    Returns
    -------
    Entries of ``training_``, as JSON values: ``calibration``, the temperature with what it changed,
    and ``validation``, how often which class was predicted for which, as [true, predicted, texts].
    """
    held = run.validation
    if held is None:
        return {"calibration": skipped("there was no validation part"), "validation": None}
    if encoded.multilabel:
        why = "a text may have several labels, for which thresholds are fitted"
        return {"calibration": skipped(why), "validation": None}
    votes = held_votes(run, encoded, held)
    temperature, said = _calibrate(run, votes, held)
    best = votes.mixture(temperature).argmax(axis=1).tolist()
    true = held.targets.argmax(axis=1).tolist()
    pairs = sorted(Counter(zip(true, best, strict=True)).items())
    confusion = [[a, b, n] for (a, b), n in pairs]
    return {"calibration": said, "validation": {"n": len(held), "confusion": confusion}}


def held_votes(run: Run, encoded: Encoded, held: Examples) -> Votes:
    """What each level says of each held-out text."""
    parts = []
    for start in range(0, len(held), _PART):
        rows = list(range(start, min(start + _PART, len(held))))
        words = encoded.source.held(run, held, rows)
        trees = None if held.heights is None else [held.heights[i] for i in rows]
        parts.append(network_votes(run.model, words.ids, trees, words.table))
    n_levels = np.cumsum([0, *(len(part.log_beliefs) for part in parts[:-1])])
    firsts = [part.firsts + n for part, n in zip(parts, n_levels.tolist(), strict=True)]
    return Votes(
        np.concatenate([part.log_beliefs for part in parts]),
        np.concatenate([part.log_probs for part in parts]),
        np.concatenate(firsts),
    )


@torch.no_grad()
def _calibrate(run: Run, votes: Votes, held: Examples) -> tuple[float, dict[str, Any]]:
    """Put the temperature that suits the held-out texts into the network; it, and what is said."""
    layer = run.model.output_layer()
    if not run.config.calibrate:
        return 1.0, skipped("calibrate is False")
    if layer is None:
        return 1.0, skipped("the network's scores cannot be scaled")
    targets, weights = held.targets.astype(np.float64), held.weights.astype(np.float64)
    if not weights.any():
        return 1.0, skipped("no text of the validation part has a weight")
    temperature = fit_temperature(votes, targets, weights)
    for scaled in (layer.weight, layer.bias):
        scaled.div_(temperature)
    return temperature, {
        "temperature": temperature,
        "n_texts": len(held),
        "before": measure(votes.mixture(), targets, weights),
        "after": measure(votes.mixture(temperature), targets, weights),
    }
