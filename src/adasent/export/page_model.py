"""A model in; what a page in one file holds of it out: JSON for page and worker, and weights.

Settings of explanations and of the runtime come from the modules that use them, so that the page
computes what Python does.
"""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from safetensors.numpy import save

from adasent.explain import phrases, reading, shapley
from adasent.explain.explainer import DEFAULT_METHOD
from adasent.explain.explanation import METHODS
from adasent.export.about import MOST_EXPLAINED, about_model, explained_words
from adasent.export.source import Source
from adasent.pyramid import RELU_CAP
from adasent.runtime.network import Network
from adasent.saving.word_table import WordTable
from adasent.text.vocabulary import SPECIALS, Vocabulary

#: What the page takes at a time, where a service would be asked too much. Nothing is sent.
_LIMITS = {"max_texts": 100, "max_explained": 1, "max_chars": 100_000, "max_body_bytes": 2**26}
_LAST_POINT = 0x110000


def known_of(source: Source, name: str) -> dict[str, Any]:
    """What the page shows of the model: ``/v1/model`` without what only a service has."""
    about = about_model(
        name,
        source.classes,
        source.thresholds,
        source.training,
        hidden_size=source.network.config.hidden_size,
        n_vocabulary=len(source.reading.vocabulary),
        max_words=source.reading.max_words,
    )
    limits = _LIMITS | {"max_explained_words": _most_explained(source)}
    return about | {"feedback": False, "api": None, "limits": limits}


def model_of(source: Source) -> dict[str, Any]:
    """What the worker has to know beside the weights."""
    longest = min(_most_explained(source), source.reading.max_words)
    return {
        "network": source.network.config.to_dict(),
        "relu_cap": RELU_CAP,
        "tokenizer": source.reading.tokenizer,
        "unicode": _unicode() if source.reading.tokenizer == "words" else None,
        "max_words": source.reading.max_words,
        "max_explained_words": _most_explained(source),
        "classes": source.classes,
        "thresholds": source.thresholds,
        "specials": list(SPECIALS),
        "vocabulary": source.reading.vocabulary.to_list(),
        "method": METHODS[DEFAULT_METHOD],
        "shapley": {
            "all_parts": shapley.ALL_PARTS,
            "leave_out": shapley.LEAVE_OUT,
            "holds": list(shapley.HOLDS),
            "drawn": _drawn(longest),
        },
        "phrases": {
            "longest": phrases.LONGEST,
            "least": phrases.LEAST,
            "most_asked": phrases.MOST_ASKED,
            "asked_units": phrases.ASKED_UNITS,
        },
        "verdict": {
            "most_answers": reading.MOST_ANSWERS,
            "named": reading.NAMED,
            "named_share": reading.NAMED_SHARE,
        },
    }


def weights_of(source: Source) -> str:
    """Base64 of the weights in safetensors: the table as it is saved, the rest as it is used."""
    return base64.b64encode(save(source.table.to_tensors() | _tensors(source.network))).decode()


def with_words(source: Source, n: int) -> Source:
    """The same model with its first ``n`` words alone, and the specials."""
    rows, table, reading = n + len(SPECIALS), source.table, source.reading
    fixed = max(0, rows - len(table.trained))
    words = reading.vocabulary.words[len(SPECIALS) : rows]
    return source._replace(
        table=WordTable(table.trained[:rows], table.fixed[:fixed], table.scale[:fixed]),
        reading=reading._replace(vocabulary=Vocabulary(words)),
    )


def _tensors(network: Network) -> dict[str, np.ndarray]:
    composition = network.composition
    own = {
        "projection": network.projection,
        "composition": composition.matrix.T,
        "compose_bias": composition.compose_bias,
        "gate_bias": composition.gate_bias,
        "gate_out": composition.gate_out,
        "gate_out_bias": composition.gate_out_bias,
    } | network.head.tensors
    return {
        name: np.ascontiguousarray(tensor, dtype=np.float32)
        for name, tensor in own.items()
        if tensor is not None
    }


def _most_explained(source: Source) -> int:
    """Longer texts than :data:`shapley.LONGEST` have scores of another kind in Python."""
    height = source.network.config.max_height
    return min(explained_words(MOST_EXPLAINED, height), shapley.LONGEST)


@cache
def _drawn(longest: int) -> dict[str, Any]:
    """The parts of texts that Python draws, a bit for each word of each part.

    Numpy's generator is not to be had in a browser.
    """
    lengths = range(shapley.ALL_PARTS + 1, longest + 1)
    parts = [shapley.drawn_parts(n) for n in lengths]
    bits = np.packbits(np.concatenate([np.empty(0, dtype=bool), *(one.ravel() for one in parts)]))
    return {
        "first": lengths.start,
        "counts": [len(one) for one in parts],
        "bits": base64.b64encode(bits.tobytes()).decode(),
    }


@cache
def _unicode() -> dict[str, list[int]]:
    """First and last code points of what is a letter or digit to Python, and what a mark."""
    return {
        "letters": _ranges(str.isalnum, 0, _LAST_POINT),
        "marks": _ranges(lambda one: unicodedata.category(one)[0] == "M", 0x300, 0x10000),
    }


def _ranges(is_one: Callable[[str], bool], first: int, end: int) -> list[int]:
    there = np.array([is_one(chr(point)) for point in range(first, end)])
    edges = np.flatnonzero(np.diff(there, prepend=False, append=False)) + first
    edges[1::2] -= 1
    found: list[int] = edges.tolist()
    return found
