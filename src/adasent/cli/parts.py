"""The texts that a command tests on, and whether they suit a model."""

from __future__ import annotations

import warnings
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.errors import AdaSentWarning, DataError

if TYPE_CHECKING:
    from adasent.cli.reading import Reading
    from adasent.data import Corpus
    from adasent.estimators.labelling import Labeller


#: Parts of a set that has an official split.
Split = StrEnum("Split", ["test", "train", "all"])
SplitOption = Annotated[
    Split | None,
    typer.Option(help="Part of a set with an official split; its test part by default."),
]


def read_part(
    reading: Reading,
    data: str,
    split: Split | None = None,
    default: Split = Split.test,
    **how: Any,
) -> tuple[Corpus, str]:
    """The texts of a part, and which part that is; ``how`` is as for ``Reading.load``.

    Without a split, it is the default part of a set that has an official split, else all.
    """
    from adasent.data.registry import find

    if split is None:
        entry = find(data)
        split = default if entry is not None and entry.split == "official" else Split.all
    wanted = None if split is Split.all else split.value
    return reading.load(data, split=wanted, **how), split.value


def check_texts(model: Labeller, corpus: Corpus, part: str) -> None:
    """Refuse texts whose labels are all strange to the model.

    Warn where some are, and of texts that the model was trained on.
    """
    known = model.classes_.tolist()
    if corpus.multilabel != (model.thresholds_ is not None):
        kinds = ("one label", "lists of labels")
        raise DataError(
            f"the model gives a text {kinds[model.thresholds_ is not None]}, and {corpus.name} has "
            f"{kinds[corpus.multilabel]} a text; see --label-separator"
        )
    of_texts = corpus.labels if corpus.multilabel else [(label,) for label in corpus.labels]
    strange = [[one for one in labels if one not in known] for labels in of_texts]
    unknown = [one for labels in strange for one in labels[:1]]  # one of each such text
    names = ", ".join(map(repr, list(dict.fromkeys(unknown))[:3]))
    if unknown and not set(known) & {one for labels in of_texts for one in labels}:
        raise DataError(
            f"{corpus.name}: no label is one of the model's ({', '.join(map(repr, known[:10]))}), "
            f"but such as {names}; check the label column"
        )
    if unknown:
        warnings.warn(
            f"{len(unknown)} of {len(corpus)} texts carry labels that the model does not know "
            f"({names}); they count as errors",
            AdaSentWarning,
            stacklevel=2,
        )
    seen: Any = model.training_.get("data")
    if not isinstance(seen, dict):  # a model that was trained in Python does not say
        return
    same = seen.get("sha256") == corpus.sha256
    if same and (part == "all" or seen.get("part") in ("all", part)):
        warnings.warn(
            "the model was trained on these texts or some of them; on others it will do worse, "
            "see adasent crossval",
            AdaSentWarning,
            stacklevel=2,
        )
