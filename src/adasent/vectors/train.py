"""Trains word2vec vectors on a raw corpus, one paragraph a line.

The corpus is streamed from disk once to count its words and once for each epoch; it is never held
in memory. Training itself is gensim's.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from adasent.errors import ConfigError, DataError, require
from adasent.text.tokenize import Tokenizer, get_tokenizer, run_tokenizer
from adasent.text.unpacking import GZIP_MAGIC, open_gzip
from adasent.vectors.words import WordVectors

#: Called with the words read so far in this pass, the words of a pass (None in the first, which
#: counts them), and the number of the pass: 0 for counting, then 1, 2, ... for the epochs.
Progress = Callable[[int, int | None, int], None]

# gensim drops what follows the 10,000th word of a sentence without a word.
_MAX_WORDS = 10_000
_MAX_LINE = 1 << 20
_REPORT_EVERY = 20_000


def train_word2vec(
    corpus: str | os.PathLike[str],
    *,
    size: int = 50,
    window: int = 5,
    negative: int = 5,
    min_count: int = 5,
    epochs: int = 3,
    threads: int = 1,
    seed: int = 0,
    tokenizer: str | Tokenizer = "kim",
    sg: int = 1,
    progress: Progress | None = None,
) -> WordVectors:
    """Train word2vec on a text file, plain or gzipped, in UTF-8.

    Parameters
    ----------
    corpus
        One paragraph a line; a word's window does not cross a line end.
    window
        Words to each side that count as context.
    negative
        Negative samples for each pair.
    min_count
        Rarer words get no vector.
    epochs
        Passes over the corpus after the one that counts words.
    threads
        One thread gives the same vectors for the same seed; several are faster and do not.
    tokenizer
        A name or a callable; the texts to classify should be cut by the same one.
    sg
        1 for skip-gram, 0 for CBOW.
    progress
        See `Progress`. It may be called from another thread; what it raises ends the training.
    """
    counts = {"window": window, "negative": negative, "min_count": min_count, "epochs": epochs}
    for name, value in {"size": size, "threads": threads, **counts}.items():
        if value < 1:
            raise ConfigError(f"{name}: expected 1 or more, got {value}")
    if sg not in (0, 1):
        raise ConfigError(f"sg: expected 1 (skip-gram) or 0 (CBOW), got {sg}")
    word2vec = require("gensim.models.word2vec", "vectors", "training word vectors")
    sentences = _Sentences(Path(corpus), get_tokenizer(tokenizer), progress)
    model = word2vec.Word2Vec(vector_size=size, workers=threads, seed=seed, sg=sg, **counts)
    model.build_vocab(sentences)
    sentences.n_total = sentences.n_words
    if not len(model.wv):
        raise DataError(
            f"{corpus}: expected words that occur {min_count} times or more, got none among "
            f"{sentences.n_words}; lower min_count or use a larger corpus"
        )
    model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    if sentences.error is not None:
        raise sentences.error
    return WordVectors(list(model.wv.index_to_key), model.wv.vectors)


class _Sentences:
    """The corpus as gensim wants it: iterable again and again, each time from the start."""

    def __init__(self, path: Path, tokenizer: Tokenizer, progress: Progress | None) -> None:
        self.path = path
        self.tokenizer = tokenizer
        self.progress = progress
        self.n_words = 0
        self.n_total: int | None = None
        self.error: BaseException | None = None
        self._pass = -1

    def __iter__(self) -> Iterator[list[str]]:
        self._pass += 1
        if self.n_total is None:
            yield from self._tokenised()
            return
        if self.error is not None:
            return
        # Epochs are read in a thread of gensim's, and training would wait for ever if it died:
        # end the pass quietly and let the caller raise.
        try:
            yield from self._tokenised()
        except (Exception, KeyboardInterrupt) as error:
            self.error = error

    def _tokenised(self) -> Iterator[list[str]]:
        self.n_words = 0
        reported = 0
        with _opened(self.path) as lines:
            for line in iter(lambda: lines.readline(_MAX_LINE), ""):
                tokens = run_tokenizer(self.tokenizer, line)
                for start in range(0, len(tokens), _MAX_WORDS):
                    yield tokens[start : start + _MAX_WORDS]
                self.n_words += len(tokens)
                if self.progress and self.n_words - reported >= _REPORT_EVERY:
                    reported = self.n_words
                    self.progress(self.n_words, self.n_total, self._pass)
        if self.progress:
            self.progress(self.n_words, self.n_total, self._pass)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """The lines of a corpus; bytes that are not UTF-8 are replaced by U+FFFD."""
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == GZIP_MAGIC
            stream = open_gzip(raw, path) if packed else raw
            yield io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")
    except FileNotFoundError as error:
        raise DataError(f"{path}: expected a corpus, found no file; check the path") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip data are damaged or cut short; get it again") from error
