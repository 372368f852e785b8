"""Labels texts with an exported model; needs numpy and onnxruntime, not adasent.

    adasent export model --format onnx --out model.onnx --texts
    python examples/onnx_predict.py model.onnx < texts.txt

Copy what you need of it, in whatever language: ``docs/export.md`` says what each step is.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

BATCH_WORDS = 800  # of a batch, padding included; more is no faster on a CPU


class Reader:
    """Texts to ids, as the two JSON files beside the graph say."""

    def __init__(self, rules: Path) -> None:
        self.rules = json.loads(rules.read_bytes())
        content = (rules.parent / self.rules["vocabulary"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != self.rules["vocabulary_sha256"]:
            raise ValueError(f"{self.rules['vocabulary']} is not the vocabulary of {rules}")
        words = json.loads(content)[self.rules["n_specials"] :]
        self.ids = {word: i for i, word in enumerate(words, self.rules["n_specials"])}
        flags = re.IGNORECASE if self.rules["ignore_case"] else 0
        self.pattern = re.compile(self.rules["pattern"], flags)
        self.straight = str.maketrans(dict.fromkeys(self.rules["apostrophes"], "'"))

    def tokens(self, text: str) -> list[str]:
        """The words of a text."""
        matches = self.pattern.finditer(text)
        return [match.group().lower().translate(self.straight) for match in matches]

    def __call__(self, text: str) -> list[int]:
        """Their ids, at least one."""
        unknown = self.rules["unknown"]
        kept = self.tokens(text)[: self.rules["max_words"]]
        return [self.ids.get(token, unknown) for token in kept] or [unknown]


def pad(texts: Sequence[Sequence[int]], *, keep_gates: bool = False) -> dict[str, np.ndarray]:
    """Ids of some texts as the graph takes them; what the padding is does not matter."""
    lengths = np.array([len(ids) for ids in texts], dtype=np.int64)
    padded = np.zeros((len(texts), lengths.max()), dtype=np.int64)
    for row, ids in zip(padded, texts, strict=True):
        row[: len(ids)] = ids
    return {"ids": padded, "lengths": lengths, "keep_gates": np.array(keep_gates)}


def batches(lengths: Sequence[int], n_words: int = BATCH_WORDS) -> Iterator[list[int]]:
    """Positions of texts of about one length, so that little of a batch is padding."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        n_texts = max(1, n_words // lengths[order[0]])
        yield order[:n_texts]
        del order[:n_texts]


def classify(session: Any, texts: Sequence[Sequence[int]], n_words: int = BATCH_WORDS) -> Any:
    """(N, C) probabilities of texts that are ids, each at least one, batches of ``n_words``."""
    found: list[Any] = [None] * len(texts)
    for some in batches([len(ids) for ids in texts], n_words):
        (rows,) = session.run(["probabilities"], pad([texts[i] for i in some]))
        for i, row in zip(some, rows, strict=True):
            found[i] = row
    probabilities = np.array(found)
    if not np.isfinite(probabilities).all():  # adasent raises an error here
        raise ValueError("the network overflows on these texts; its weights are far too large")
    return probabilities


def main() -> None:
    """The label of each line of standard input."""
    path = Path(sys.argv[1])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    classes = json.loads(about["classes"])
    read = Reader(path.with_suffix(".tokenizer.json"))
    lines = sys.stdin.read().splitlines()
    for line, row in zip(lines, classify(session, [read(line) for line in lines]), strict=True):
        if "thresholds" in about:  # a text may have several labels
            levels = json.loads(about["thresholds"])
            chosen = [c for c, p, level in zip(classes, row, levels, strict=True) if p >= level]
        else:
            chosen = [classes[row.argmax()]]
        print(", ".join(map(str, chosen)), line, sep="\t")


if __name__ == "__main__":
    main()
