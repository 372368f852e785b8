"""Makes the starter model that the package carries, and its card: one command, by name, resumable.

    python -m benchmarks.starter --encoder gte-small --out src/adasent/starter

The labelled texts are the registered set ``snippets``; a fifth of them is held back, and neither
teacher nor student sees it. The teacher is a sentence encoder: a logistic regression on its
vectors (``--teacher frozen``), or AdaSent above it, both trained (``--teacher tuned``, for a GPU).
It labels sentences of the registered set ``IMDB``, phrases with a negator cut from these, and words
of these put into frames with and without a negator (``starter_texts.py``). The probes, the phrases
that the card shows, are never among them.

``--work`` keeps all that is slow: what the teacher is given to label, word vectors, labels, and the
state of the training. Killed at any moment, the same command goes on. With ``--prepare`` it stops
when texts and vectors are there: then a machine without a network needs that folder, ``snippets``
and the encoder.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import adasent
from adasent import AdaSentClassifier
from adasent.data import held_out, load
from adasent.data.corpus import take
from adasent.data.derived import vector_file
from adasent.estimators.starter import CARD
from adasent.evaluation.significance import wilson
from adasent.saving.folder import FILES
from adasent.saving.word_table import from_int8, to_int8
from adasent.teaching.select import highest, nearness
from adasent.teaching.sentences import clean, key_of, read_texts, split_sentences
from adasent.teaching.student import TeachingConfig
from adasent.teaching.teach import ExtraConfig, Taught, longest_of, teach
from adasent.teaching.vectors import most_frequent, side_by_side
from adasent.text.tokenize import words
from adasent.vectors.words import WordVectors, frequent_words, read_vectors
from benchmarks.starter_card import card
from benchmarks.starter_texts import cut_negated, frame_words, framed
from benchmarks.teaching import Encoder, LinearTeacher
from reproduction.phenomena import NEGATORS

SET, UNLABELLED = "snippets", "IMDB"
VECTORS = ("minilm-256d", "glove-100d")
#: What a stranger may type. The first eight are what the model is to get right at least.
PROBES = {
    "not a bad film": "positive",
    "not bad at all": "positive",
    "never boring": "positive",
    "i did not like it": "negative",
    "nothing here is funny": "negative",
    "far from dull": "positive",
    "could not have been better": "positive",
    "lacks wit": "negative",
    "a good film": "positive",
    "a film that is not good": "negative",
    "not my kind of film": "negative",
    "you will not be bored": "positive",
    "i have no complaints": "positive",
    "it is not without charm": "positive",
    "not as bad as i had feared": "positive",
    "i wanted to like it": "negative",
    "two hours that i will never get back": "negative",
    "the cast is good but the plot is not": "negative",
    "slow at first , and then i could not look away": "positive",
    "great , another film about a talking dog": "negative",
}
#: Words of a sentence, at most.
LONGEST = 40


def main() -> None:
    args = arguments()
    if args.card:
        write_card(args.out)
        return
    started = time.perf_counter()
    torch.set_num_threads(args.threads)

    def step(text: str) -> None:
        print(f"[{time.perf_counter() - started:5.0f} s] {text}", flush=True)

    corpus = load(SET)
    kept, aside = held_out(corpus.labels, 0.2, args.seed, texts=corpus.texts)
    texts, labels = take(corpus.texts, kept), take(corpus.labels, kept)
    held = take(corpus.texts, aside), take(corpus.labels, aside)
    args.work.mkdir(parents=True, exist_ok=True)

    step(f"{len(texts):,} labelled texts, {len(held[0]):,} held back; reading what is not labelled")
    extra = kept_texts(args.work / "extra.txt.gz", args, texts)
    step(f"{len(extra):,} texts for the teacher; word vectors")
    vectors = kept_vectors(args.work, args, texts, extra)
    if args.prepare:
        step(f"prepared: {args.work}")
        return

    step(f"{vectors}; the teacher")
    teacher = make_teacher(args, texts, labels)
    taught = teach(
        texts,
        labels,
        teacher,
        unlabelled=extra,
        student=student(args, vectors),
        held_out=held,
        config=TeachingConfig(passes=args.passes),
        extra=ExtraConfig(n_extra=len(extra), choose="first"),
        n_words=args.words,
        size=None,
        cache=args.work,
        seed=args.seed,
        observer=Told(step),
    )
    step("writing the model and its card")
    save(taught, args, texts, labels, held)
    step((args.out / CARD).read_text(encoding="utf-8"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", type=Path, help="folder of gte-small")
    parser.add_argument("--out", type=Path, default=Path("src/adasent/starter"))
    parser.add_argument("--work", type=Path, default=Path("starter-work"))
    parser.add_argument("--prepare", action="store_true", help="stop before the teacher")
    parser.add_argument(
        "--card", action="store_true", help="only write the card of --out again, from its record"
    )
    parser.add_argument("--teacher", choices=("frozen", "tuned"), default="frozen")
    parser.add_argument("--tuning-epochs", type=int, default=3)
    parser.add_argument(
        "--unlabelled", type=Path, nargs="*", help=f"files of text in place of {UNLABELLED}"
    )
    parser.add_argument("--sentences", type=int, default=20_000, help="chosen of all")
    parser.add_argument("--phrases", type=int, default=40_000, help="with a negator, cut of all")
    parser.add_argument("--frame-words", type=int, default=250, help="of each kind, put in frames")
    parser.add_argument("--words", type=int, default=24_000, help="that the model keeps")
    parser.add_argument("--size", type=int, default=200, help="of a word vector")
    parser.add_argument("--hidden", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--passes", type=float, default=2.0)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--vector-dropout", type=float, default=0.3)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.encoder is None and not (args.prepare or args.card):
        parser.error("--encoder: which folder is the teacher's encoder in?")
    return args


class Told:
    """Says which stage teaching has come to."""

    def __init__(self, step: Any) -> None:
        self.step = step

    def on_stage(self, name: str, total: int | None) -> None:
        self.step(name if total is None else f"{name}, {total:,} texts")

    def on_progress(self, n_done: int, n_asked: int) -> None:
        if n_asked and n_done % (16 * 1024) == 0:
            self.step(f"{n_done:,} labelled")


def kept_texts(path: Path, args: argparse.Namespace, texts: Sequence[str]) -> list[str]:
    """What the teacher is to label; found again by what it was made with."""
    made = [args.unlabelled or UNLABELLED, args.sentences, args.phrases, args.frame_words]
    head = json.dumps([*made, args.seed], default=str)
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            if file.readline().rstrip("\n") == head:
                return file.read().splitlines()
    found = list(extra_texts(args, texts))
    part = path.with_suffix(".part")
    with gzip.open(part, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in [head, *found])
    part.replace(path)
    return found


def extra_texts(args: argparse.Namespace, texts: Sequence[str]) -> Iterator[str]:
    """Frames, phrases and sentences, each once, no probe among them."""
    source = read_texts(args.unlabelled) if args.unlabelled else load(UNLABELLED).texts
    sentences = [clean(one) for text in source for one in split_sentences(text)]
    longest = min(LONGEST, longest_of([len(words(text)) for text in texts]))
    short = [one for one in sentences if 2 < len(words(one)) <= longest]
    nearest = highest(nearness(short, texts, tokenizer=words), args.sentences)
    phrases = dict.fromkeys(cut_negated(sentences, seed=args.seed))
    frames = framed(frame_words(sentences, at_least=5, n=args.frame_words))
    seen = {key_of(words(probe)) for probe in PROBES}
    for text in chain(frames, islice(phrases, args.phrases), take(short, nearest)):
        key = key_of(words(text))
        if key not in seen:
            seen.add(key)
            yield text


def kept_vectors(
    folder: Path, args: argparse.Namespace, texts: Sequence[str], extra: Sequence[str]
) -> WordVectors:
    """Principal components of all sets side by side, of the words that the model may keep.

    They are kept, and used, in a byte a number, as the model will have them in the end.
    """
    of = sha256("\n".join([*VECTORS, *texts, *extra]).encode()).hexdigest()[:8]
    path = folder / f"vectors-{args.words}-{args.size}-{of}.npz"
    if not path.exists():
        sources = [read_vectors(vector_file(name)) for name in VECTORS]
        own = Counter(word for text in texts for word in words(text))
        every = own + Counter(word for text in extra for word in words(text))
        known = [*most_frequent(own, args.words), *most_frequent(every, args.words)]
        wanted = list(dict.fromkeys([*known, *frequent_words(sources, args.words)]))
        found = side_by_side(sources, wanted[: args.words], args.size)
        numbers, scale = to_int8(found.matrix)
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, words=np.array(found.words), numbers=numbers, scale=scale)
        part.replace(path)
    with np.load(path) as kept:
        return WordVectors(kept["words"].tolist(), from_int8(kept["numbers"], kept["scale"]))


def make_teacher(args: argparse.Namespace, texts: Sequence[str], labels: Sequence[Any]) -> Any:
    """A fitted teacher, or one that is fitted, and kept, on the way."""
    if args.teacher == "frozen":
        store = args.work / f"{args.encoder.name}-bfloat16"
        encoder = Encoder(args.encoder, store, args.device, torch.bfloat16)
        return LinearTeacher(encoder, texts, labels)
    return AdaSentClassifier(
        encoder=str(args.encoder),
        tune_encoder=True,
        tuning_epochs=args.tuning_epochs,
        device=args.device,
        random_state=args.seed,
        verbose=1,
    )


def student(args: argparse.Namespace, vectors: WordVectors) -> AdaSentClassifier:
    """The small model, not fitted. It keeps none of the texts of others as examples."""
    return AdaSentClassifier(
        vectors=vectors,
        extra_words=args.words,
        hidden_size=args.hidden,
        epochs=args.epochs,
        learning_rate=args.learning_rate,
        vector_dropout=args.vector_dropout,
        batch_size=args.batch_size,
        keep_examples=False,
        device=args.device,
        n_jobs=args.threads,
        random_state=args.seed,
        verbose=1,
    )


def save(
    taught: Taught,
    args: argparse.Namespace,
    texts: Sequence[str],
    labels: Sequence[Any],
    held: tuple[list[str], list[Any]],
) -> None:
    """Write the model, measure what was written as its users will have it, and say so beside it."""
    clf = taught.student
    shutil.rmtree(args.out, ignore_errors=True)
    clf.save(args.out)
    model = adasent.load(args.out)
    true = np.asarray(held[1])
    right = {
        "starter": model.predict(held[0]) == true,
        "teacher": teacher_says(taught, held[0], model.classes_) == true,
        "TF-IDF + LR": rival(texts, labels).predict(held[0]) == true,
    }
    negated = np.array([not NEGATORS.isdisjoint(words(text)) for text in held[0]])
    said = model.predict_proba(list(PROBES))
    clf.training_["starter"] = {
        "set": SET,
        "unlabelled": [path.name for path in args.unlabelled or []] or UNLABELLED,
        "vectors": list(VECTORS),
        "teacher": args.teacher,
        "encoder": args.encoder.name,
        "settings": {k: v for k, v in vars(args).items() if isinstance(v, int | float | str)},
        "n_labelled": len(texts),
        "n_extra": taught.report.n_extra,
        "n_words": model.encoder.n_words,
        "size": model.network.config.vector_size,
        "megabytes": round(sum((args.out / name).stat().st_size for name in FILES) / 1e6, 1),
        "figures": [
            figure(name, part, own[rows])
            for part, rows in {"all": np.ones_like(negated), "with a negator": negated}.items()
            for name, own in right.items()
        ],
        "probes": [
            {"text": text, "label": label, "positive": round(float(row[1]), 2)}
            for (text, label), row in zip(PROBES.items(), said, strict=True)
        ],
    }
    clf.training_["examples"] = [
        {"text": text, "label": label}
        for (text, label), row in zip(PROBES.items(), said, strict=True)
        if model.classes_[row.argmax()] == label
    ]
    clf.save(args.out)
    write_card(args.out)


def write_card(folder: Path) -> None:
    """The card, from the record that is in the folder."""
    record = adasent.load(folder).training_["starter"]
    (folder / CARD).write_text(card(record), encoding="utf-8")


def figure(name: str, part: str, right: np.ndarray) -> dict[str, Any]:
    """Accuracy on some of the held-back texts, in percent, with its 95 % interval."""
    low, high = wilson(int(right.sum()), len(right))
    shares = (float(right.mean()), low, high)
    accuracy, low, high = (round(100 * share, 1) for share in shares)
    return {
        "model": name, "part": part, "n": len(right),
        "accuracy": accuracy, "low": low, "high": high,
    }  # fmt: skip


def teacher_says(taught: Taught, texts: Sequence[str], classes: np.ndarray) -> np.ndarray:
    found: np.ndarray = classes[taught.teachers[0].predict_proba(texts).argmax(axis=1)]
    return found


def rival(texts: Iterable[str], labels: Sequence[Any]) -> Any:
    """What anybody would try first, to be compared with."""
    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)


if __name__ == "__main__":
    main()
