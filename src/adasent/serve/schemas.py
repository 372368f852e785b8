"""The answers of the service, for its OpenAPI description."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

Label = str | bool | int | float


class Problem(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="One line.")


class Prediction(BaseModel):
    """A text's label, or its labels where it may have several."""

    label: Label | list[Label]
    probabilities: list[float] = Field(
        description="In the order of classes; they sum to 1 where a text has one label."
    )
    n_words: int = Field(description="Words found in the text.")
    truncated: bool = Field(description="Whether only the first max_words were read.")


class Predictions(BaseModel):
    """The labels of texts, in their order."""

    classes: list[Label]
    predictions: list[Prediction]


class Unit(BaseModel):
    """A phrase of the pyramid."""

    score: list[float] = Field(
        description="What it adds to each class. A word as in words; a level's sum to its own."
    )
    probabilities: list[float] = Field(description="What it says by itself.")


class Phrase(BaseModel):
    """Words that act together, or a single one."""

    start: int = Field(description="First word.")
    end: int = Field(description="Word after the last.")
    text: str
    score: list[float]
    interaction: list[float] = Field(description="What of that its words do not add one by one.")


class Explanation(BaseModel):
    """What each length of phrase, phrase and word adds. L levels, T words, C classes.

    From base to probabilities, words add up, and so do phrases and levels.
    """

    text: str
    tokens: list[str]
    offsets: list[tuple[int, int]] = Field(description="Characters of the text, for each token.")
    known: list[bool] = Field(description="Whether the model knows each token.")
    classes: list[Label]
    probabilities: list[float]
    base: list[float] = Field(description="The probabilities of no word at all.")
    predicted: Label | list[Label]
    thresholds: list[float] | None = Field(
        description="Where a text may have several labels, from which probability on it has each."
    )
    verdict: str = Field(description="The answer and its reasons, in a sentence.")
    beliefs: list[float] = Field(description="(L,), sum to 1: how much each level counts.")
    level_probabilities: list[list[float]] = Field(description="(L, C) what each says by itself.")
    contributions: list[list[float]] = Field(
        description="(L, C); the sum over levels is the probability."
    )
    level_scores: list[list[float]] = Field(description="(L, C) what each adds.")
    gates: list[list[tuple[float, float, float]]] = Field(
        description="From level 2 up, for each unit: kept left, kept right, combined."
    )
    spans: list[list[list[float]]] = Field(
        description="For each level and unit, how much it rests on each of its words."
    )
    units: list[list[Unit]]
    words: list[list[float]] = Field(description="(T, C) what each adds.")
    errors: list[list[float]] | None = Field(description="(T, C) standard errors of words.")
    phrases: list[Phrase] = Field(description="All of the text, without overlap; strongest first.")
    method: str = Field(description="How the scores of words were found.")
    n_words: int
    truncated: bool


class Explanations(BaseModel):
    """The explanations of texts, in their order."""

    explanations: list[Explanation]


class Bounds(BaseModel):
    """What the service accepts."""

    max_texts: int
    max_explained: int
    max_chars: int
    max_explained_words: int
    max_body_bytes: int


class Example(BaseModel):
    """A held-out text that was kept with the model."""

    text: str
    label: Label


class Model(BaseModel):
    """The model that is served."""

    name: str
    version: str = Field(description="Version of adasent.")
    classes: list[Label]
    thresholds: list[float] | None = Field(
        description="Where a text may have several labels, from which probability on it has each."
    )
    hidden_size: int
    n_vocabulary: int
    max_words: int = Field(description="Words of a text that are read.")
    n_texts: int | None = Field(description="Texts it was trained on; null if not recorded.")
    colours: list[str] = Field(description="The colour of each class, wherever it is painted.")
    examples: list[Example] = Field(description="Texts that it got right; none if none were kept.")
    api: str | None = Field(description="Where the API is described; null where there is none.")
    feedback: bool = Field(description="Whether POST /v1/feedback takes labels put right.")
    limits: Bounds


class Models(BaseModel):
    """The models that are served, the first of which answers where none is named."""

    models: list[Model]


class Stored(BaseModel):
    """What was written beside the text and its right label."""

    predicted: Label
    probability: float = Field(description="Of the label that was predicted.")


class Health(BaseModel):
    """Whether the service can answer."""

    status: Literal["ok"]
