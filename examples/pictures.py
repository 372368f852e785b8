"""The pictures of docs/why.md, drawn from the model that ``make demo`` leaves in demo-output.

python examples/pictures.py [MODEL]
"""

from __future__ import annotations

import sys
from pathlib import Path

import adasent
from adasent.explain import plots
from adasent.training.history import History

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
TEXTS = [
    "the cast is better than the script deserves",
    "a warm and funny film that earns its tears",
    "two hours i will never get back",
    "not a bad film at all",
]


def main(model: Path = ROOT / "demo-output" / "model") -> None:
    predictor = adasent.load(model)
    explanations = predictor.explain(TEXTS)
    history = History.from_dict(predictor.training_["history"])
    figures = {
        "pyramid": plots.pyramid(explanations[0]),
        "votes": plots.votes(explanations[0]),
        "beliefs": plots.beliefs(explanations),
        "decomposition": plots.decomposition(predictor, "not a bad film"),
        "training": plots.training(history),
    }
    for name, figure in figures.items():
        plots.save(figure, FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
