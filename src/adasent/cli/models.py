"""What the commands ask of a model beside labels: its pyramid, its thresholds, its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adasent.cli.console import console
from adasent.errors import ConfigError
from adasent.estimators.labelling import Labeller
from adasent.estimators.registry import load, saved_system

if TYPE_CHECKING:
    from adasent import Predictor


def open_adasent(folder: Path, command: str) -> Predictor:
    """The saved model for a command that shows the pyramid; other systems have none."""
    check_adasent(folder, command)
    model: Predictor = load(folder)
    return model


def check_adasent(folder: Path, command: str) -> None:
    """Refuse the folder of a model of another system, before anything is done."""
    system = saved_system(folder)
    if system != "adasent":
        raise ConfigError(
            f"{command} needs a model of AdaSent, and {folder} holds one of {system}; "
            "adasent predict and adasent evaluate can use it"
        )


def read_levels(values: Sequence[str], model: Labeller) -> dict[Any, float]:
    """Thresholds by label, of ``--threshold 0.4`` for all and ``--threshold joy=0.6`` for one."""
    found: dict[Any, float] = {}
    if values and model.thresholds_ is None:
        raise ConfigError("--threshold: the model gives a text one label, the most probable")
    names = {str(label): label for label in model.classes_.tolist()}
    for value in values:
        name, _, level = value.rpartition("=")
        if name and name not in names:
            known = ", ".join(list(names)[:10])
            raise ConfigError(f"--threshold {value}: expected one of the labels {known}")
        try:
            found |= dict.fromkeys([names[name]] if name else names.values(), float(level))
        except ValueError:
            raise ConfigError(f"--threshold: expected 0.4 or LABEL=0.4, got {value!r}") from None
    return found


def say_starter() -> None:
    """That no model was named, and which one is asked; not among the results."""
    console(stderr=True).print(
        "no model named: asked is the starter model, film reviews in English (adasent try)",
        soft_wrap=True,
    )
