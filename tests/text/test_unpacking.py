"""Archives made for harm are refused early, by every reader; ordinary ones are read."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from adasent.data import load, stream_texts
from adasent.data.fetch import tar_member, zip_member
from adasent.errors import DataError, VectorsError
from adasent.teaching.sentences import read_texts
from adasent.text.unpacking import HARMLESS, UNPACK_ALL, open_gzip, open_zip
from adasent.vectors.distill import read_member
from adasent.vectors.files import read_table

BOMB = r"unpacks to more than 200 times its size, .* set ADASENT_UNPACK_ALL=1 \(--unpack-all"


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """Some 30 kB that unpack to more blank lines than do no harm."""
    return gzip.compress((b" " * 999 + b"\n") * (3 * HARMLESS // 1000))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.jsonl.gz", "a.txt.gz", "a.ft.gz"])
def test_a_users_file(bomb: bytes, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(bomb)
    with pytest.raises(DataError, match=BOMB):
        load(path)


def test_sentences_for_teaching(bomb: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text\n") + bomb)
    with pytest.raises(DataError, match=BOMB):
        list(read_texts([path]))


def test_vectors(bomb: bytes, tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    path.write_bytes(bomb)
    with pytest.raises(DataError, match=BOMB):
        read_table(path, limit=None)
    path.write_bytes(gzip.compress(b"1000000000000 50\na " + bytes(200)))
    with pytest.raises(VectorsError, match="claims 1000000000000 words of 50 numbers"):
        read_table(path, limit=None)


def test_a_corpus_for_vectors(bomb: bytes, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    from adasent.vectors.train import train_word2vec

    path = tmp_path / "corpus.gz"
    path.write_bytes(bomb)
    with pytest.raises(DataError, match=BOMB):
        train_word2vec(path, size=2)


def test_an_archive_of_the_registry(bomb: bytes) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, size in (("filler", 3 * HARMLESS), ("wanted.txt", 4)):
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, io.BytesIO(bytes(size)))
    packed.seek(0)
    with pytest.raises(DataError, match=BOMB):
        tar_member(packed, "wanted.txt", 4)


@pytest.fixture
def zipped(tmp_path: Path) -> Path:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("wanted", b"here")
        archive.writestr("filler", bytes(3 * HARMLESS))
    return path


def test_zip_archives(zipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    with pytest.raises(DataError, match=BOMB):
        load(zipped)
    with pytest.raises(DataError, match=BOMB):
        read_member(zipped, "model.safetensors")
    with zipped.open("rb") as stream, pytest.raises(DataError, match=BOMB):
        zip_member(stream, "wanted")
    monkeypatch.setenv(UNPACK_ALL, "1")
    with zipped.open("rb") as stream:
        assert zip_member(stream, "wanted") == b"here"


def test_a_parquet_file_of_one_row_many_times(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    one = arrow.array(["good"]).dictionary_encode()
    column = arrow.DictionaryArray.from_arrays(np.zeros(2 * HARMLESS, np.int8), one.dictionary)
    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"text": column, "label": column}), path)
    with pytest.raises(DataError, match=BOMB):
        next(iter(stream_texts(path)))


def test_what_is_lifted_and_what_is_ordinary(
    bomb: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"good film\n" * 300_000))  # repetitive, and small
    with open_gzip(path.open("rb"), path) as stream:
        assert len(stream.read()) == 3_000_000
        assert (stream.seek(5), stream.read(4)) == (5, b"film")
        assert (stream.seek(2, io.SEEK_CUR), stream.tell()) == (11, 11)
    monkeypatch.setenv(UNPACK_ALL, "1")
    path.write_bytes(bomb)
    with open_gzip(path.open("rb"), path) as stream:
        assert len(stream.read()) > 2 * HARMLESS
    assert stream.closed


def test_archives_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w"):
        pass
    assert open_zip(path, path).namelist() == []


def test_the_flag_of_the_command_line(bomb: bytes, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from adasent.cli.app import app

    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\ngood,a\nbad,b\nfine,a\nnone,b\n") + bomb)
    args = ["data", "audit", str(path), "--folds", "2"]
    refused, read = (CliRunner().invoke(app, [*args, *more]) for more in ([], ["--unpack-all"]))
    assert refused.exit_code == 1
    assert "(--unpack-all on a command line)" in refused.stderr
    assert read.exit_code == 0
    assert "4 texts" in read.stdout
    assert UNPACK_ALL not in os.environ
