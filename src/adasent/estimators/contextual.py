"""Word vectors of an encoder for an estimator: computed once and kept, or tuned with the network.

A frozen encoder gives every occurrence of a word in the corpus a row of its own, and the rows are
the word table that training is given: ids are row numbers, and nothing trains the table. So the
training of word tables, with its stacks and recorded graphs, is the training of frozen encoders.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from rich.console import Console

from adasent.data.fetch import cache_dir
from adasent.encoders import pieces
from adasent.encoders.cache import FeatureCache
from adasent.encoders.folder import EncoderFolder, find_encoder
from adasent.encoders.protocol import WordEncoder
from adasent.encoders.transformer import TransformerEncoder, counts_of, parts, warn
from adasent.errors import require
from adasent.estimators.encoding import Encoded, ReadWords, Unseen, WordSource
from adasent.estimators.prediction import find_device
from adasent.systems.base import System
from adasent.text.passage import Passage
from adasent.text.rows import Floats, WordRows
from adasent.text.tokenize import Tokenizer
from adasent.text.vocabulary import SPECIALS
from adasent.training.config import TrainingConfig, TuningConfig
from adasent.training.examples import Examples
from adasent.training.run import Run
from adasent.training.tuning import TunedRun

#: Where features are kept, in the folder of downloads.
FEATURES = "features"

#: Texts whose vectors tell the scale of an encoder that is to be tuned.
SAMPLE_TEXTS = 500


def encoder_words(
    source: str | os.PathLike[str],
    tuning: TuningConfig | None,
    device: str | None,
    *,
    tell: bool = False,
) -> WordSource:
    """Words of an encoder that is tuned, or stays as it is where ``tuning`` is None.

    ``tell`` says on standard error how far the features of one that stays are.
    """
    for module in ("transformers", "tokenizers", "accelerate"):
        require(module, "encoder", "an encoder")
    folder = find_encoder(source)
    if tuning is None:
        return FrozenWords(folder, find_device(device), tell=tell)
    return TunedWords(folder, find_device(device), tuning)


class FrozenWords:
    """Words of an encoder that stays as it is."""

    def __init__(self, folder: EncoderFolder, device: torch.device, *, tell: bool = False) -> None:
        self.folder = folder
        self.device = device
        self.tell = tell

    def read(
        self,
        training: Sequence[Passage],
        held: Sequence[Passage],
        tokenizer: Tokenizer,
        max_words: int,
        seed: int,
    ) -> ReadWords:
        """A row for each word of each text: those of training, then those held out."""
        encoder = TransformerEncoder.open(self.folder, tokenizer, max_words)
        encoder.place(str(self.device))
        every = [*training, *held]
        warn(len(every), odd_words(encoder, every), stacklevel=5)
        compute = partial(features_of, encoder)
        size, told = encoder.vector_size, partial(self._told, len(every))
        vectors = self._cache().features(every, size, compute, told)
        n_trained = sum(map(len, training))
        encoder.scale = scale_of(vectors[:n_trained])
        table = np.zeros((len(SPECIALS) + len(vectors), encoder.vector_size), dtype=np.float32)
        np.multiply(vectors, encoder.scale, out=table[len(SPECIALS) :])
        ids = _numbered(every, len(SPECIALS))
        return ReadWords(
            ids[: len(training)],
            ids[len(training) :],
            table,
            len(SPECIALS) + n_trained,
            encoder,
            unseen_of(encoder, held),
        )

    def _told(self, n_texts: int, n_done: int) -> None:
        if self.tell:
            line = f"encoder: {n_done:,} of {n_texts:,} texts read"
            Console(stderr=True).print(line, highlight=False, soft_wrap=True)

    def _cache(self) -> FeatureCache:
        """On disk: by encoder, by how words are made of pieces, and by what multiplies."""
        identity = {
            "encoder": self.folder.sha256,
            "pieces": pieces.VERSION,
            "device": self.device.type,
            "torch": torch.__version__,
        }
        return FeatureCache(cache_dir() / FEATURES, identity)

    def run(self, model: System, encoded: Encoded, config: TrainingConfig) -> Run:
        """A run over a table that nothing trains."""
        config = replace(config, fine_tune=False)
        return Run(model, encoded.training, encoded.validation, config, encoded.seed)

    def held(self, run: Run, held: Examples, rows: list[int]) -> WordRows:
        """Words of the network's own table, which has those of the held-out texts too."""
        return WordRows([held.ids[i] for i in rows], None)

    def finish(self, run: Run, encoded: Encoded) -> WordEncoder:
        """Without the words of the training texts: those of any text come from the encoder."""
        run.model.forget_words()
        return encoded.encoder


class TunedWords:
    """Words of an encoder that is trained with the network above it."""

    def __init__(self, folder: EncoderFolder, device: torch.device, tuning: TuningConfig) -> None:
        self.folder = folder
        self.device = device
        self.tuning = tuning

    def read(
        self,
        training: Sequence[Passage],
        held: Sequence[Passage],
        tokenizer: Tokenizer,
        max_words: int,
        seed: int,
    ) -> ReadWords:
        """No vectors yet: they change with every step."""
        encoder = TransformerEncoder.open(self.folder, tokenizer, max_words)
        encoder.place(str(self.device))
        rows = np.random.default_rng(seed).permutation(len(training))[:SAMPLE_TEXTS]
        sample = [training[i] for i in rows]
        encoder.scale = scale_of(encoder.features(list(encoder.reader(sample))))
        every = [*training, *held]
        warn(len(every), odd_words(encoder, every), stacklevel=5)
        ids = _numbered(every, 0)
        return ReadWords(
            ids[: len(training)],
            ids[len(training) :],
            np.zeros((len(SPECIALS), encoder.vector_size), dtype=np.float32),
            len(SPECIALS),
            encoder,
            unseen_of(encoder, held),
        )

    def run(self, model: System, encoded: Encoded, config: TrainingConfig) -> Run:
        """A run of network and encoder, of which it gets its own: the texts may be used again."""
        encoder = copy.deepcopy(encoded.encoder)
        assert isinstance(encoder, TransformerEncoder)
        return TunedRun(
            model,
            encoded.training,
            encoded.validation,
            config,
            encoded.seed,
            encoder=encoder,
            tuning=self.tuning,
            origin=self.folder.sha256,
        )

    def held(self, run: Run, held: Examples, rows: list[int]) -> WordRows:
        """Words of the encoder as it has become."""
        assert isinstance(run, TunedRun)
        assert held.passages is not None
        run.encoder.place(str(self.device))
        return run.encoder.rows([held.passages[i] for i in rows])

    def finish(self, run: Run, encoded: Encoded) -> WordEncoder:
        """The encoder as it has become."""
        assert isinstance(run, TunedRun)
        run.encoder.tuned = True
        return run.encoder


def features_of(encoder: TransformerEncoder, passages: Sequence[Passage]) -> Floats:
    """Vectors of texts, part by part."""
    return np.concatenate([encoder.features(list(encoder.reader(p))) for p in parts(passages)])


def odd_words(encoder: TransformerEncoder, passages: Sequence[Passage]) -> np.ndarray:
    """(2,) how many words the encoder cannot read, and how many it cannot read to their end."""
    counts = [counts_of(list(encoder.reader(part))) for part in parts(passages)]
    total: np.ndarray = np.sum(counts, axis=0)
    return total


def scale_of(vectors: Floats) -> float:
    """What makes the standard deviation of all entries 1."""
    return 1.0 / max(float(vectors.std()), 1e-6)


def unseen_of(encoder: TransformerEncoder, held: Sequence[Passage]) -> Unseen | None:
    """How many words of the validation texts the encoder cannot read."""
    if not held:
        return None
    return Unseen(sum(map(len, held)), int(odd_words(encoder, held)[0]), 0)


def _numbered(passages: Sequence[Passage], first: int) -> list[np.ndarray]:
    """The words of all texts, one after another."""
    stops = first + np.cumsum([len(one) for one in passages], dtype=np.int64)
    return [np.arange(stop - len(one), stop) for stop, one in zip(stops, passages, strict=True)]
