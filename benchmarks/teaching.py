"""What teaching is worth on dev parts: students with and without a teacher, over kinds of text.

    python -m benchmarks.teaching untaught none film wiki span,join film:temperature=2 \\
        --encoder gte-small --sets CR,TREC --seeds 0,1,2 --out teaching.jsonl

The teacher is a logistic regression on mean-pooled vectors of a sentence encoder, the student is
AdaSent. Only training parts are used: of the first random fold, or of the official split. A fifth
of it is held back to compare on, another one for each seed. A line of JSON for each trained
student; trials that the file holds are not run again. Vectors of sentences are kept in ``--cache``.
Without trials, the table of docs/teaching.md is printed from the file.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from hashlib import sha1
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegressionCV

from adasent import AdaSentClassifier
from adasent.data import held_out, load, official_split, stratified_folds
from adasent.data.corpus import take
from adasent.data.derived import vector_file
from adasent.evaluation.significance import compare
from adasent.teaching.sentences import Sieve, read_texts, split_long
from adasent.teaching.student import TeachingConfig
from adasent.teaching.teach import ExtraConfig, teach
from adasent.text.tokenize import words
from adasent.vectors.words import WordVectors, read_vectors

#: Sentences of each kind of text that are labelled at most, so that all trials share them.
POOL = 20_000
LONGEST = 40
BATCH = 64

#: Where each kind of text comes from; the others are made of the training texts.
TEXTS = {"film": "imdb-sentences-300k.txt.gz", "wiki": "enwiki-9M-words.txt.gz"}


class Encoder:
    """Mean-pooled sentence vectors of a transformer, each computed once and kept on disk.

    Parameters
    ----------
    folder
        Of the encoder, as transformers writes it.
    store
        Where vectors are kept: of this encoder alone, in this precision.
    device, dtype
        Where and in which precision it computes. A CPU that knows bfloat16 is three times as fast
        in it.
    """

    def __init__(
        self,
        folder: Path,
        store: Path,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval().to(device, dtype)
        self.store = store
        self.known: dict[bytes, np.ndarray] = {}
        store.mkdir(parents=True, exist_ok=True)
        for path in sorted(store.glob("*.npz")):
            with np.load(path) as kept:
                self.known.update(
                    zip((k.tobytes() for k in kept["keys"]), kept["rows"], strict=True)
                )

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        keys = [sha1(text.encode()).digest() for text in texts]
        missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in self.known}
        todo = sorted(missing.items(), key=lambda item: len(item[1]))
        for start in range(0, len(todo), 2048):
            part = todo[start : start + 2048]
            rows = np.concatenate(
                [self._encode([t for _, t in part[i : i + 64]]) for i in range(0, len(part), 64)]
            )
            self.known.update(zip((k for k, _ in part), rows, strict=True))
            own = np.array([np.frombuffer(k, np.uint8) for k, _ in part])
            name = sha1(own.tobytes()).hexdigest()[:16]
            np.savez(self.store / f"{name}.npz", keys=own, rows=rows)
            if len(todo) > len(part):
                print(f"encoded {start + len(part)} of {len(todo)}", flush=True)
        return np.stack([self.known[key] for key in keys]).astype(np.float32)

    @torch.inference_mode()
    def _encode(self, texts: list[str]) -> np.ndarray:
        given = self.tokenizer(
            texts, padding=True, truncation=True, max_length=128, return_tensors="pt"
        )
        given = given.to(self.model.device)
        states = self.model(**given).last_hidden_state.float()
        mask = given["attention_mask"][..., None]
        mean = (states * mask).sum(dim=1) / mask.sum(dim=1)
        return torch.nn.functional.normalize(mean).cpu().numpy().astype(np.float16)

    @torch.inference_mode()
    def read_words(self, tokens: list[list[str]]) -> list[np.ndarray]:
        """(T, d) vectors of the words of each text: the mean of their pieces in the last layer."""
        found = []
        for start in range(0, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            cut = {"padding": True, "truncation": True, "max_length": 256}
            given = self.tokenizer(part, is_split_into_words=True, **cut, return_tensors="pt")
            states = self.model(**given.to(self.model.device)).last_hidden_state.float().cpu()
            for i, row in enumerate(part):
                owner = [-1 if word is None else word for word in given.word_ids(i)]
                # A word without pieces, such as a lone control character, is in no row: zeros.
                owns = torch.tensor(owner) == torch.arange(len(row))[:, None]
                mean = owns.float() @ states[i] / owns.sum(dim=1, keepdim=True).clamp(min=1)
                found.append(mean.numpy())
        return found


class LinearTeacher:
    """A logistic regression on sentence vectors; its strength is chosen on the training texts."""

    def __init__(self, encoder: Encoder, texts: Sequence[str], labels: Sequence[Any]) -> None:
        self.encoder = encoder
        self.model = LogisticRegressionCV(
            Cs=[1.0, 10.0, 100.0], scoring="neg_log_loss", max_iter=2000, l1_ratios=(0,),
            use_legacy_attributes=False,
        ).fit(encoder(texts), labels)  # fmt: skip
        self.classes_ = self.model.classes_

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        found: np.ndarray = self.model.predict_proba(self.encoder(texts))
        return found


@dataclass(frozen=True)
class Trial:
    """One student, and all that makes it another one than the rest."""

    data: str
    seed: int
    kind: str  # untaught, none (the teacher labels the training texts alone), film, wiki or ways
    n_extra: int = 5000
    choose: str = "near"
    temperature: float = 1.0
    hard: float = 0.5
    extra_weight: float = 1.0
    epochs: int = 12
    learning_rate: float = 2e-3
    repeat: int = 1  # 0 for as often as without a teacher
    contextual: bool = False  # mean vectors of the encoder beside the static ones


def training_part(data: str) -> tuple[list[str], list[Any]]:
    """Texts that may be looked at: those of the official or of the first random training part."""
    corpus = load(data)
    whole = corpus.test is not None
    fold = official_split(corpus) if whole else stratified_folds(corpus.labels, 10, 0)[0]
    return take(corpus.texts, fold.train), take(corpus.labels, fold.train)


@cache
def pool(kind: str, mirror: Path) -> list[str]:
    """The same sentences for all trials."""
    sieve = Sieve(words, max_words=LONGEST)
    lines = read_texts([mirror / "text" / TEXTS[kind]])
    return list(islice(sieve(split_long(lines, tokenizer=words, max_words=LONGEST)), POOL))


def run(trial: Trial, encoder: Encoder, sources: list[WordVectors], mirror: Path) -> dict[str, Any]:
    """Train a student; what it had right of the held-back texts."""
    texts, labels = training_part(trial.data)
    rest, aside = held_out(labels, 0.2, 100 + trial.seed, texts=texts)
    known, held = (take(texts, rest), take(labels, rest)), (take(texts, aside), take(labels, aside))
    teacher = LinearTeacher(encoder, *known)
    taught_by_text = trial.kind not in ("untaught", "none")
    started = time.perf_counter()
    taught = teach(
        *known,
        teacher,
        unlabelled=pool(trial.kind, mirror) if trial.kind in TEXTS else None,
        student=AdaSentClassifier(
            vectors=sources,
            random_state=trial.seed,
            epochs=trial.epochs,
            learning_rate=trial.learning_rate,
            device="cpu",
        ),
        held_out=held,
        config=TeachingConfig(
            temperature=trial.temperature,
            hard=1.0 if trial.kind == "untaught" else trial.hard,
            extra_weight=trial.extra_weight,
            repeat=trial.repeat or None,
        ),
        extra=ExtraConfig(
            n_extra=trial.n_extra if taught_by_text else 0,
            choose=trial.choose,
            ways=trial.kind if taught_by_text and trial.kind not in TEXTS else "span,join",
        ),
        seed=trial.seed,
        read_words=encoder.read_words if trial.contextual else None,
    )
    right = taught.student.predict(held[0]) == np.asarray(held[1])
    return asdict(trial) | {
        "accuracy": float(right.mean()),
        "teacher": taught.report.teacher_accuracy,
        "n_held": len(right),
        "n_labelled": taught.report.n_labelled,
        "extra": taught.report.extra,
        "n_used": taught.report.n_extra,
        "best_epoch": taught.student.history_.best_epoch,
        "epochs_run": len(taught.student.history_),
        "seconds": round(time.perf_counter() - started, 1),
        "right": right.astype(int).tolist(),
    }


def parse(text: str) -> dict[str, Any]:
    """``film,temperature=2`` as fields of a trial."""
    kind, *settings = text.split(":")
    values = dict(setting.split("=") for setting in settings)
    return {"kind": kind} | {
        name: type(Trial.__dataclass_fields__[name].default)(value)
        for name, value in values.items()
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: each kind of trial beside the untaught student on the same held-back texts."""
    said = [field.name for field in fields(Trial) if field.name not in ("data", "seed", "kind")]
    plain = Trial("", 0, "")
    groups: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for row in rows:
        own = {name: row.get(name, getattr(plain, name)) for name in said}
        other = [f"{name} {own[name]}" for name in said if own[name] != getattr(plain, name)]
        groups.setdefault((row["data"], ", ".join([row["kind"], *other])), {})[row["seed"]] = row
    lines = [
        "| set | student learns from | runs | n | accuracy | less untaught | 95 % interval | p |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (data, name), runs in sorted(groups.items()):
        right = np.concatenate([runs[seed]["right"] for seed in sorted(runs)])
        base = groups.get((data, "untaught"), {})
        line = f"| {data} | {name} | {len(runs)} | {len(right)} | {100 * right.mean():.1f} |"
        if name != "untaught" and base.keys() >= runs.keys():
            found = compare(right, np.concatenate([base[seed]["right"] for seed in sorted(runs)]))
            gain = found.bootstrap
            line += f" {100 * gain.difference:+.1f} | {100 * gain.low:+.1f} to"
            line += f" {100 * gain.high:+.1f}"
            line += f" | {found.mcnemar.p:.2g} |"
        else:
            line += " | | |"
        lines.append(line)
    teachers = {(row["data"], row["seed"]): (row["teacher"], row["n_held"]) for row in rows}
    for data in sorted({data for data, _ in teachers}):
        found = [pair for (one, _), pair in teachers.items() if one == data]
        n = sum(n for _, n in found)
        mean = 100 * sum(share * n for share, n in found) / n
        lines.append(f"| {data} | the teacher itself | {len(found)} | {n} | {mean:.1f} | | | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trials", nargs="*", help="such as untaught, film:hard=0, span,join")
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("build/teaching/features"))
    parser.add_argument("--mirror", type=Path, default=Path(os.environ["ADASENT_DATA"]))
    parser.add_argument("--sets", default="CR,TREC")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--vectors", default="wiki-imdb-200d,glove-100d")
    parser.add_argument("--out", type=Path, default=Path("teaching.jsonl"))
    given = parser.parse_args()
    if not given.trials:
        print(table([json.loads(line) for line in given.out.open()]))
        return
    done = [json.loads(line) for line in given.out.open()] if given.out.exists() else []
    names = [field.name for field in fields(Trial)]
    finished = {Trial(**{name: row[name] for name in names if name in row}) for row in done}
    encoder = Encoder(given.encoder, given.cache)
    sources = [read_vectors(vector_file(name)) for name in given.vectors.split(",")]
    for seed, data, text in product(
        map(int, given.seeds.split(",")), given.sets.split(","), given.trials
    ):
        trial = Trial(data=data, seed=seed, **parse(text))
        if trial in finished:
            continue
        row = run(trial, encoder, sources, given.mirror)
        with given.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print({name: value for name, value in row.items() if name != "right"}, flush=True)


if __name__ == "__main__":
    main()
