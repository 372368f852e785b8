"""Opens the folder of a model, whichever system it is of, to label texts with it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from adasent.cli.console import console
from adasent.errors import AdaSentWarning, ConfigError
from adasent.estimators.registry import describe, load, load_estimator, saved_system

if TYPE_CHECKING:
    import numpy as np

    from adasent import Predictor
    from adasent.text.tokenize import Tokenizer


class Labeller(Protocol):
    """What the commands ask of a model."""

    classes_: np.ndarray
    training_: dict[str, Any]
    thresholds_: np.ndarray | None

    def predict(self, texts: Any, /) -> np.ndarray:
        """A label for each text."""

    def predict_proba(self, texts: Any, /) -> np.ndarray:
        """(N, C) probabilities."""


def open_model(folder: Path, device: str | None = None) -> Labeller:
    """The saved model of any system; AdaSent's needs numpy alone, but on a GPU."""
    if device is None:
        model: Labeller = load(folder)
        return model
    if not describe(saved_system(folder)).by_epochs:
        raise ConfigError(f"--device {device}: {saved_system(folder)} has no network to put there")
    from adasent.estimators.prediction import find_device  # which needs torch

    find_device(device)  # before the model is read
    network = load_estimator(folder)
    network.device = device
    labeller: Labeller = network
    return labeller


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


class Counting:
    """A tokenizer that counts odd texts over a whole stream, for one warning at its end."""

    def __init__(self, tokenizer: Tokenizer, max_words: int) -> None:
        self.tokenizer = self.same_tokens_as = tokenizer
        self.max_words = max_words
        self.n_texts = self.n_empty = self.n_long = 0

    def __call__(self, text: str) -> list[str]:
        tokens = self.tokenizer(text)
        self.n_texts += 1
        self.n_empty += not tokens
        self.n_long += len(tokens) > self.max_words
        return tokens

    def warn(self) -> None:
        """What was odd, if anything."""
        odd = {
            f"longer than max_words={self.max_words}, cut there": self.n_long,
            "without a word, read as one unknown word": self.n_empty,
        }
        notes = [f"{n} {what}" for what, n in odd.items() if n]
        if notes:
            message = f"of {self.n_texts} texts: {'; '.join(notes)}"
            warnings.warn(message, AdaSentWarning, stacklevel=2)


def count_texts(model: Any) -> Counting:
    """Put a counting tokenizer into a model of any system."""
    if hasattr(model, "tokenizer_"):  # systems that count n-grams have no encoder
        model.tokenizer_ = counting = Counting(model.tokenizer_, model.max_words_)
        return counting
    encoder = model.encoder_ if hasattr(model, "encoder_") else model.encoder
    encoder.tokenizer = counting = Counting(encoder.tokenizer, encoder.max_words)
    return counting
