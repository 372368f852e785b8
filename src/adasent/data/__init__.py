"""Data sets and users' files as labelled texts, fetched and verified, and seeded splits."""

from adasent.data.columns import LABEL_COLUMNS, TEXT_COLUMNS
from adasent.data.corpus import Corpus, Label
from adasent.data.fetch import cache_dir, fetch, fetch_file, pip_download
from adasent.data.readers import load, stream_texts
from adasent.data.registry import (
    Entry,
    PaperRow,
    RemoteFile,
    corpora,
    describe,
    registered,
    vector_sets,
)
from adasent.data.splits import Fold, grouped_folds, held_out, official_split, stratified_folds

__all__ = [
    "LABEL_COLUMNS",
    "TEXT_COLUMNS",
    "Corpus",
    "Entry",
    "Fold",
    "Label",
    "PaperRow",
    "RemoteFile",
    "cache_dir",
    "corpora",
    "describe",
    "fetch",
    "fetch_file",
    "grouped_folds",
    "held_out",
    "load",
    "official_split",
    "pip_download",
    "registered",
    "stratified_folds",
    "stream_texts",
    "vector_sets",
]
