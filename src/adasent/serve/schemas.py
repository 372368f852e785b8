"""The answers of the service, for its OpenAPI description."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

Label = str | bool | int | float


class Problem(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="One line.")


class Prediction(BaseModel):
    """A text's label."""

    label: Label
    probabilities: list[float] = Field(description="In the order of classes; they sum to 1.")
    n_words: int = Field(description="Words found in the text.")
    truncated: bool = Field(description="Whether only the first max_words were read.")


class Predictions(BaseModel):
    """The labels of texts, in their order."""

    classes: list[Label]
    predictions: list[Prediction]


class Unit(BaseModel):
    """What a unit says by itself."""

    score: list[float]
    probabilities: list[float]


class Phrase(BaseModel):
    """A phrase that carried the decision."""

    start: int = Field(description="First word.")
    end: int = Field(description="Word after the last.")
    level: int
    text: str
    score: list[float]


class Explanation(BaseModel):
    """What each scale, phrase and word of a text contributed. L levels, T = L words, C classes."""

    text: str
    tokens: list[str]
    offsets: list[tuple[int, int]] = Field(description="Characters of the text, for each token.")
    classes: list[Label]
    probabilities: list[float]
    predicted: Label
    beliefs: list[float] = Field(description="(L,), sum to 1.")
    level_probabilities: list[list[float]] = Field(description="(L, C)")
    contributions: list[list[float]] = Field(
        description="(L, C); the sum over levels is the probability."
    )
    gates: list[list[tuple[float, float, float]]] = Field(
        description="From level 2 up, for each unit: left, right, composed."
    )
    spans: list[list[list[float]]] = Field(
        description="For each level and unit, the weight of each of its words."
    )
    units: list[list[Unit]]
    words: list[list[float]] = Field(description="(T, C) scores.")
    phrases: list[Phrase] = Field(description="Best first.")
    method: str = Field(description="How scores inside a level were found.")
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


class Model(BaseModel):
    """The model that is served."""

    name: str
    version: str = Field(description="Version of adasent.")
    classes: list[Label]
    hidden_size: int
    n_vocabulary: int
    max_words: int = Field(description="Words of a text that are read.")
    n_texts: int | None = Field(description="Texts it was trained on; null if not recorded.")
    limits: Bounds


class Health(BaseModel):
    """Whether the service can answer."""

    status: Literal["ok"]
