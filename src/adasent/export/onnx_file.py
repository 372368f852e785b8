"""``export_onnx``: a saved model of AdaSent in, an ONNX file that says the same out.

What is in the file, and how to use it: ``docs/export.md``. Needs onnx and no torch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from adasent.errors import ConfigError, require
from adasent.estimators.predictor import Predictor
from adasent.export.files import write_whole
from adasent.export.onnx_graph import network_model
from adasent.export.onnx_texts import text_files, vocabulary_hash
from adasent.export.source import Source, source_of
from adasent.saving.word_table import WordTable
from adasent.version import __version__

#: Bytes that a file of Protocol Buffers holds, at most.
MOST_BYTES = 2**31 - 1


def export_onnx(
    model: Predictor | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    texts: bool = False,
) -> list[Path]:
    """Write a model of AdaSent as an ONNX graph; ``docs/export.md`` describes it.

    Parameters
    ----------
    model
        A loaded model, or its folder.
    path
        Of the ONNX file; what is there is replaced.
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
    source = source_of(model)
    _check_size(source.table)
    beside = text_files(source.reading, Path(path)) if texts else {}
    onnx = require("onnx", "onnx", "exporting to ONNX")
    graph = network_model(
        source.network,
        source.table,
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
        write_whole(target, content)
    return list(files)


def _check_size(table: WordTable) -> None:
    """Refuse a table that cannot fit, before it is copied."""
    n_bytes = sum(part.nbytes for part in (table.trained, table.fixed, table.scale))
    if n_bytes > MOST_BYTES:
        raise _too_large(n_bytes)


def _too_large(n_bytes: int) -> ConfigError:
    return ConfigError(
        f"an ONNX file holds at most {MOST_BYTES:,} bytes, and the model takes {n_bytes:,}: train "
        "with fewer extra_words, or with word vectors of fewer dimensions"
    )


def _about(source: Source) -> dict[str, str]:
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
