"""``export_onnx``: a saved model of AdaSent in, an ONNX file that says the same out.

What is in the file, and how to use it: ``docs/export.md``. Needs onnx and no torch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from adasent.errors import ConfigError, require
from adasent.estimators.predictor import Predictor
from adasent.estimators.registry import saved_system
from adasent.estimators.starter import find_model
from adasent.export.onnx_graph import network_model
from adasent.export.onnx_texts import Reading, text_files, vocabulary_hash
from adasent.runtime.network import Network
from adasent.saving.adasent import read_adasent
from adasent.saving.word_table import WordTable
from adasent.text.tokenize import tokenizer_name
from adasent.version import __version__

#: Bytes that a file of Protocol Buffers holds, at most.
MOST_BYTES = 2**31 - 1


def export_onnx(
    model: Predictor | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    gates: bool = True,
    texts: bool = False,
) -> list[Path]:
    """Write a model of AdaSent as an ONNX graph; ``docs/export.md`` describes it.

    Parameters
    ----------
    model
        A loaded model, or its folder.
    path
        Of the ONNX file; what is there is replaced.
    gates
        Whether the gates of units are among the outputs. They take memory and time of their own.
    texts
        Whether what makes ids of texts is written beside it too, as JSON.

    Returns
    -------
    The files that were written, the graph first.

    Raises
    ------
    ConfigError
        If the model is not AdaSent's, stands on an encoder, or is too large for a file; or if its
        tokenizer is a callable, which JSON cannot hold.
    """
    source = _of_predictor(model) if isinstance(model, Predictor) else _of_folder(model)
    beside = text_files(source.reading, Path(path)) if texts else {}
    onnx = require("onnx", "onnx", "exporting to ONNX")
    graph = network_model(
        source.network,
        source.table,
        gates=gates,
        producer_name="adasent",
        producer_version=__version__,
        doc_string="AdaSent: ids of words to classes. See docs/export.md of adasent.",
    )
    onnx.helper.set_model_props(graph, _about(source))
    data = graph.SerializeToString()
    if len(data) > MOST_BYTES:
        raise _too_large(len(data))
    onnx.checker.check_model(data, full_check=True)
    files = {Path(path): data, **beside}
    for target, content in files.items():
        _write(target, content)
    return list(files)


class _Source(NamedTuple):
    """What is exported."""

    network: Network
    table: WordTable
    reading: Reading
    classes: list[Any]
    thresholds: list[float] | None


def _of_folder(folder: str | os.PathLike[str]) -> _Source:
    """A saved model; a tokenizer of the user's own is not asked for."""
    system = saved_system(folder)
    if system != "adasent":
        raise ConfigError(
            f"expected a model of AdaSent, which is what can be exported; {folder} holds one of "
            f"{system}: train one with --system adasent, or teach one with adasent teach"
        )
    saved, config, vocabulary, table, tensors = read_adasent(find_model(folder))
    if saved.encoder is not None:
        raise _on_an_encoder()
    return _Source(
        Network(config, table, tensors),
        _small_enough(table),
        Reading(saved.tokenizer, saved.max_words, vocabulary),
        saved.classes.tolist(),
        None if saved.thresholds is None else saved.thresholds.tolist(),
    )


def _of_predictor(predictor: Predictor) -> _Source:
    encoder, table = predictor.encoder, predictor.network.table
    if encoder.contextual or not isinstance(table, WordTable):
        raise _on_an_encoder()
    name = tokenizer_name(encoder.tokenizer)
    return _Source(
        predictor.network,
        _small_enough(table),
        Reading(name, encoder.max_words, encoder.vocabulary),
        predictor.classes_.tolist(),
        None if predictor.thresholds_ is None else predictor.thresholds_.tolist(),
    )


def _on_an_encoder() -> ConfigError:
    return ConfigError(
        "the model stands on an encoder, which is not exported: expected one that stands on word "
        "vectors; adasent teach makes one of it"
    )


def _small_enough(table: WordTable) -> WordTable:
    """The table, unless it cannot fit; said before it is copied."""
    n_bytes = sum(part.nbytes for part in (table.trained, table.fixed, table.scale))
    if n_bytes > MOST_BYTES:
        raise _too_large(n_bytes)
    return table


def _too_large(n_bytes: int) -> ConfigError:
    return ConfigError(
        f"an ONNX file holds at most {MOST_BYTES:,} bytes, and the model takes {n_bytes:,}: train "
        "with fewer extra_words, or with word vectors of fewer dimensions"
    )


def _about(source: _Source) -> dict[str, str]:
    """What a user of the graph has to know; what is not a string, as JSON."""
    config, reading = source.network.config, source.reading
    about = {
        "adasent_version": __version__,
        "classes": source.classes,
        "multilabel": config.multilabel,
        "max_height": config.max_height,
        "tokenizer": reading.tokenizer,
        "max_words": reading.max_words,
        "n_words": len(reading.vocabulary),
        "vocabulary_sha256": vocabulary_hash(reading.vocabulary),
    }
    if source.thresholds is not None:
        about["thresholds"] = source.thresholds
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in about.items()
    }


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_bytes(content)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
