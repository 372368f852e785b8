"""An encoder of transformers -> vectors of words that know their text.

The encoder reads word pieces; each word is the mean of its own (:mod:`adasent.encoders.pieces`). So
everything above sees words: pyramids, spans and offsets are those of the library's tokenizer. The
same two functions, :func:`collate` and :func:`pool`, serve prediction and tuning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn import functional as F

from adasent.encoders.folder import TOKENIZER, EncoderFolder
from adasent.encoders.pieces import PieceReader, Reading, Window
from adasent.encoders.protocol import Features
from adasent.errors import AdaSentWarning, ConfigError, require
from adasent.text.passage import Passage, read_passages
from adasent.text.rows import Floats, WordRows
from adasent.text.tokenize import Tokenizer
from adasent.text.vocabulary import Vocabulary

#: Words of a part of a stream: at 1,000 dimensions, 80 MB of vectors.
PART_WORDS = 20_000

#: Pieces that are read at once: enough to keep a core, or a GPU, at its best.
_ON_CPU, _ON_GPU = 2048, 65_536


class PieceBatch(NamedTuple):
    """Windows as tensors, padded to P pieces."""

    ids: Tensor  # (B, P)
    mask: Tensor  # (B, P) 1 where there is a piece
    members: Tensor  # (M,) pieces of each word, word after word, of all windows end to end
    starts: Tensor  # (n,) where those of each word begin

    def to(self, device: torch.device) -> PieceBatch:
        """The same on a device."""
        return PieceBatch(*(tensor.to(device, non_blocking=True) for tensor in self))


def collate(windows: Sequence[Window]) -> PieceBatch:
    """Windows -> one batch; its words are theirs, in their order."""
    width = max(len(window.pieces) for window in windows)
    ids = np.zeros((len(windows), width), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, window in enumerate(windows):
        ids[row, : len(window.pieces)] = window.pieces
        mask[row, : len(window.pieces)] = 1
    members = np.concatenate([width * row + one.members for row, one in enumerate(windows)])
    counts = np.concatenate([one.counts for one in windows])
    arrays = (ids, mask, members, np.cumsum(counts) - counts)
    return PieceBatch(*map(torch.from_numpy, arrays))


def pool(network: nn.Module, batch: PieceBatch) -> Tensor:
    """(n, d) the mean of the encoder's last layer over the pieces of each word."""
    hidden = network(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
    # (B, P, d) as a table of pieces, of which every word is a bag
    return F.embedding_bag(batch.members, hidden.flatten(0, 1).float(), batch.starts, mode="mean")


class TransformerEncoder:
    """The :class:`~adasent.encoders.protocol.WordEncoder` of a transformer.

    Parameters
    ----------
    network
        Gives ``last_hidden_state`` (B, P, d) for ``input_ids`` and ``attention_mask``.
    origin
        The files it was read from; once it was tuned, those of its tokenizer still hold.
    scale
        What its vectors are multiplied with. As those of a table they have standard deviation 1
        over the words of the training texts: a network learns best at this one.
    """

    contextual: ClassVar[bool] = True

    def __init__(
        self,
        network: nn.Module,
        reader: PieceReader,
        tokenizer: Tokenizer,
        max_words: int,
        origin: EncoderFolder,
        scale: float = 1.0,
    ) -> None:
        self.network = network.eval()
        self.reader = reader
        self.tokenizer = tokenizer
        self.max_words = max_words
        self.origin = origin
        self.scale = scale
        self.tuned = False
        # A tuned encoder is saved with these, wherever the folder has gone by then.
        files = origin.files.items()
        self._tokenizer_files = {n: path.read_bytes() for n, path in files if n in TOKENIZER}
        self.vocabulary = Vocabulary([])  # the network above has no words of its own

    @classmethod
    def open(
        cls, origin: EncoderFolder, tokenizer: Tokenizer, max_words: int, scale: float = 1.0
    ) -> TransformerEncoder:
        """Read the files of an encoder."""
        network, pieces = _read(origin)
        reader = PieceReader.of(pieces, _positions(network))
        return cls(network, reader, tokenizer, max_words, origin, scale)

    @property
    def vector_size(self) -> int:
        """d."""
        return int(self.network.config.hidden_size)  # type: ignore[union-attr, arg-type]

    @property
    def n_words(self) -> int:
        """Word pieces that the encoder knows."""
        return self.reader.n_pieces

    @property
    def device(self) -> torch.device:
        """Where the encoder is."""
        return next(self.network.parameters()).device

    def place(self, device: str) -> None:
        """Compute on this device."""
        if self.device != torch.device(device):
            self.network.to(device)

    def stream(self, texts: Sequence[str]) -> Iterator[WordRows]:
        """Vectors of texts, in parts of :data:`PART_WORDS` words or one text."""
        passages = read_passages(texts, self.tokenizer, self.max_words)
        odd = np.zeros(2, dtype=np.int64)
        for part in parts(passages):
            readings = list(self.reader(part))
            odd += counts_of(readings)
            yield self._rows(part, readings)
        warn(len(texts), odd)

    def rows(self, passages: Sequence[Passage]) -> WordRows:
        """Vectors of texts, all at once."""
        return self._rows(passages, list(self.reader(passages)))

    def _rows(self, passages: Sequence[Passage], readings: Sequence[Reading]) -> WordRows:
        vectors = self.scale * self.features(readings)
        stops = np.cumsum([len(one) for one in passages], dtype=np.int64)
        ids = np.split(np.arange(len(vectors)), stops[:-1]) if len(passages) else []
        return WordRows(ids, Features(vectors.astype(np.float32, copy=False)))

    def features(self, readings: Sequence[Reading]) -> Floats:
        """(n, d) vectors of all words of texts, before they are scaled."""
        windows = [window for reading in readings for window in reading.windows]
        found = np.empty((sum(len(one.counts) for one in windows), self.vector_size), np.float32)
        stops = np.cumsum([len(one.counts) for one in windows], dtype=np.int64)
        with torch.inference_mode():
            for rows in self._batches(windows):
                vectors = pool(self.network, collate([windows[i] for i in rows]).to(self.device))
                at = [np.arange(stops[i] - len(windows[i].counts), stops[i]) for i in rows]
                found[np.concatenate(at)] = vectors.cpu().numpy()
        return found

    def _batches(self, windows: Sequence[Window]) -> Iterator[list[int]]:
        """Windows of similar length, the longest first."""
        limit = _ON_CPU if self.device.type == "cpu" else _ON_GPU
        order = sorted(range(len(windows)), key=lambda i: -len(windows[i].pieces))
        while order:
            size = max(1, limit // len(windows[order[0]].pieces))
            yield order[:size]
            order = order[size:]

    @contextmanager
    def written(self, folder: Path) -> Iterator[EncoderFolder]:
        """The files of the encoder as it is now: those it came from, or new ones in ``folder``."""
        if not self.tuned:
            yield self.origin
            return
        with _quiet():
            self.network.cpu().save_pretrained(folder)  # type: ignore[operator]
        for name, content in self._tokenizer_files.items():
            (folder / name).write_bytes(content)
        yield EncoderFolder(self.origin.name, folder)


def parts(passages: Sequence[Passage]) -> Iterator[Sequence[Passage]]:
    """Texts in order, in parts of :data:`PART_WORDS` words or one text; at least one part."""
    first = n_words = 0
    for i, passage in enumerate(passages):
        if i > first and n_words + len(passage) > PART_WORDS:
            yield passages[first:i]
            first, n_words = i, 0
        n_words += len(passage)
    yield passages[first:]


def counts_of(readings: Sequence[Reading]) -> np.ndarray:
    """(2,) words that were read as the unknown piece, and words that were cut."""
    found = np.array([[one.n_unread, one.n_cut] for one in readings] or [[0, 0]])
    total: np.ndarray = found.sum(axis=0)
    return total


def warn(n_texts: int, odd: np.ndarray, *, stacklevel: int = 3) -> None:
    """One warning for all that was odd in some texts."""
    notes = (
        "words of which the encoder's tokenizer makes nothing, read as its unknown piece",
        "words of more pieces than the encoder can read, cut",
    )
    told = [f"{n} {note}" for n, note in zip(odd.tolist(), notes, strict=True) if n]
    if told:
        given = "1 text" if n_texts == 1 else f"{n_texts} texts"
        warnings.warn(f"of {given}: {'; '.join(told)}", AdaSentWarning, stacklevel=stacklevel)


def _read(origin: EncoderFolder) -> tuple[nn.Module, Any]:
    """Network and tokenizer of a folder; nothing is fetched, unpickled or run."""
    transformers = require("transformers", "encoder", "an encoder")
    only_files = {"local_files_only": True, "trust_remote_code": False}
    # Weights that the files lack are drawn; none of them is used, and no seed shall notice.
    with _quiet(), torch.random.fork_rng(devices=[]):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(origin.path, **only_files)
            network, report = transformers.AutoModel.from_pretrained(
                origin.path, use_safetensors=True, output_loading_info=True, **only_files
            )
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
            reason = " ".join(str(error).split())[:300]
            raise ConfigError(
                f"encoder {origin.name}: transformers cannot read {origin.path}: {reason}"
            ) from error
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    if missing or network.config.is_encoder_decoder:
        what = f"its weights lack {missing[0]}" if missing else "it is an encoder with a decoder"
        raise ConfigError(
            f"encoder {origin.name}: expected an encoder such as BERT, but {what}; take another"
        )
    if getattr(network, "pooler", None) is not None:
        network.pooler = None  # one vector of a text, which nobody asks for
    return network.float(), tokenizer


def _positions(network: Any) -> int | None:
    """Positions that a network can tell apart, where it says how many."""
    n_positions: int | None = getattr(network.config, "max_position_embeddings", None)
    table = getattr(getattr(network, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    if n_positions is not None and padding is not None:  # RoBERTa counts from behind its padding
        n_positions -= padding + 1
    return n_positions


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the bars and reports of transformers; what they say is checked here."""
    logging = require("transformers.utils.logging", "encoder", "an encoder")
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
