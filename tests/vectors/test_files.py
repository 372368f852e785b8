import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from adasent.errors import AdaSentWarning, VectorsError
from adasent.vectors import files as vector_files
from adasent.vectors.files import read_table, write_table

WORDS = ["the", "n't", "é", "bad"]
MATRIX = np.array([[0.5, -1.25], [3.0, 1e-3], [0.0, 2.0], [-4.0, 5.5]], dtype=np.float32)


def binary(words=WORDS, matrix=MATRIX, *, header: str | None = None, end: bytes = b"") -> bytes:
    n, dim = matrix.shape
    rows = (
        word.encode() + b" " + struct.pack(f"<{dim}f", *row) + end
        for word, row in zip(words, matrix, strict=True)
    )
    return (header or f"{n} {dim}\n").encode() + b"".join(rows)


def text(words=WORDS, matrix=MATRIX, *, header: str = "", end: str = "\n") -> bytes:
    lines = (
        f"{word} {' '.join(map(str, row))}{end}" for word, row in zip(words, matrix, strict=True)
    )
    return (header + "".join(lines)).encode()


def read(tmp_path: Path, content: bytes, limit: int | None = None):
    path = tmp_path / "vectors.dat"
    path.write_bytes(content)
    return read_table(path, limit=limit)


def refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        read(tmp_path, content)


FORMATS = {
    "word2vec binary": binary(),
    "original word2vec binary": binary(end=b"\n"),
    "word2vec text": text(header="4 2\n"),
    "fastText text": text(header="4 2\n", end=" \n"),
    "GloVe text": text(),
    "GloVe text, Windows lines": text(end="\r\n"),
    "GloVe text, tabs": text().replace(b" ", b"\t"),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same(tmp_path: Path, name: str, pack) -> None:
    words, matrix = read(tmp_path, pack(FORMATS[name]))
    assert words == WORDS
    np.testing.assert_allclose(matrix, MATRIX)
    assert matrix.dtype == np.float32


@pytest.mark.parametrize("name", FORMATS)
def test_limit(tmp_path: Path, name: str) -> None:
    words, matrix = read(tmp_path, FORMATS[name], limit=2)
    assert words == WORDS[:2]
    np.testing.assert_allclose(matrix, MATRIX[:2])
    assert read(tmp_path, FORMATS[name], limit=99)[0] == WORDS


def test_limit_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="limit: expected None or at least 1"):
        read(tmp_path, binary(), limit=0)


def test_one_number_a_word(tmp_path: Path) -> None:
    for content in (text(matrix=MATRIX[:, :1], header="4 1\n"), binary(matrix=MATRIX[:, :1])):
        assert read(tmp_path, content)[1].tolist() == MATRIX[:, :1].tolist()


def test_gzip_in_several_members(tmp_path: Path) -> None:
    content = binary()
    packed = b"".join(gzip.compress(content[at : at + 5]) for at in range(0, len(content), 5))
    assert read(tmp_path, packed)[0] == WORDS


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_binary_rows_across_chunks(tmp_path: Path, monkeypatch, chunk: int) -> None:
    monkeypatch.setattr(vector_files, "_CHUNK", chunk)
    monkeypatch.setattr(vector_files, "_MAX_WORD", 24)
    words = [f"word{n}" for n in range(50)]
    matrix = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    read_words, read_matrix = read(tmp_path, binary(words, matrix))
    assert read_words == words
    np.testing.assert_array_equal(read_matrix, matrix)


def test_many_text_rows(tmp_path: Path) -> None:
    words = [f"w{n}" for n in range(5000)]
    matrix = np.arange(5000, dtype=np.float32)[:, None]
    read_words, read_matrix = read(tmp_path, text(words, matrix))
    assert read_words == words
    np.testing.assert_array_equal(read_matrix, matrix)


@pytest.mark.parametrize("make", [binary, text])
def test_repeats_are_skipped_and_counted(tmp_path: Path, make) -> None:
    with pytest.warns(AdaSentWarning, match=r"skipped 2 repeated words.* 0 empty .*among 4") as got:
        words, matrix = read(tmp_path, make(["a", "b", "a", "a"]))
    assert len(got) == 1
    assert words == ["a", "b"]
    np.testing.assert_allclose(matrix, MATRIX[:2])


def test_a_missing_word_is_skipped(tmp_path: Path) -> None:
    with pytest.warns(AdaSentWarning, match="1 empty"):
        words, _ = read(tmp_path, text(["a", "", "b", "c"]))
    assert words == ["a", "b", "c"]


def test_a_word_may_hold_spaces(tmp_path: Path) -> None:
    assert read(tmp_path, text(["a", ". . .", "b", "at x@y.com"]))[0][1::2] == [
        ". . .",
        "at x@y.com",
    ]


def test_bytes_that_are_not_utf8_survive(tmp_path: Path) -> None:
    words, matrix = read(tmp_path, text().replace("é".encode(), b"\xe9"))
    assert words[2] == "\udce9"
    write_table(tmp_path / "out.bin", words, matrix)
    assert read_table(tmp_path / "out.bin", limit=None)[0] == words


@pytest.mark.parametrize("header", ["1000000000000 300\n", f"{9**60} 2\n", "4 99999999\n"])
def test_a_header_beyond_the_file_is_refused(tmp_path: Path, header: str) -> None:
    for pack in (bytes, gzip.compress):
        refused(tmp_path, pack(binary(header=header)), "header claims .* cannot hold")


@pytest.mark.parametrize("header", ["0 2\n", "4 0\n"])
def test_a_header_of_nothing_is_refused(tmp_path: Path, header: str) -> None:
    refused(tmp_path, binary(header=header), "header claims")


def test_cut_short(tmp_path: Path) -> None:
    refused(tmp_path, binary()[:-1], "4 words of 2 numbers, but word 4, at byte 39, is not whole")
    refused(tmp_path, binary(header="5 2\n"), "word 5, at byte 51, is not whole")
    refused(tmp_path, text(header="5 2\n"), "claims 5 words, but the file ends after 4")
    refused(tmp_path, gzip.compress(binary())[:-9], "gzip data end too early")


def test_a_word_without_end_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(vector_files, "_CHUNK", 100)
    refused(tmp_path, b"2 1\n" + b"\xff" * 20_000, "word 1, at byte 4, is not whole")


def test_more_than_the_header_claims(tmp_path: Path) -> None:
    refused(tmp_path, binary(header="3 2\n"), "more data follow at byte 39")
    refused(tmp_path, text(header="3 2\n"), "claims 3 words, but line 5 holds one more")


def test_damaged_gzip(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(binary()))
    packed[15] ^= 0xFF
    refused(tmp_path, bytes(packed), "gzip data (are damaged|end too early)")
    packed = bytearray(gzip.compress(binary()))
    packed[-6] ^= 0xFF  # the checksum
    refused(tmp_path, bytes(packed), "gzip data are damaged")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "without words"),
        (b"\n\n", "without words"),
        (b"a 1 2\nb 1\n", "line 2: expected a word and 2 numbers, got 'b 1'"),
        (b"a 1 2\nb 1 x\n", "line 2: expected a word and 2 numbers"),
        (b"a 1 2\nb 1 2 3\n", r"line 2: .* \(4 fields\)"),
        (b"2 2\na 1 2\nb 1\n", "line 3: expected a word and 2 numbers"),
        (b"hello\n", "line 1: expected a word and 1 numbers"),
        (b"a 1 nan\n", "NaN or infinity for word 1 \\('a'\\)"),
        (b"x" * (1 << 21), "line 1 is longer"),
        (b"\x80\x04\x95junk", "pickle.*pass the KeyedVectors.*save_word2vec_format"),
        (b"PK\x03\x04junk", "zip archive; unpack"),
        (b"\x93NUMPY\x01", "numpy array without words"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    refused(tmp_path, content, message)


def test_infinity_in_a_binary_file(tmp_path: Path) -> None:
    matrix = MATRIX.copy()
    matrix[2, 1] = np.inf
    refused(tmp_path, binary(matrix=matrix), "NaN or infinity for word 3")


def test_gensim_saved_vectors_are_refused(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(2)
    keyed.add_vectors(WORDS, MATRIX)
    keyed.save(str(tmp_path / "x.kv"))
    with pytest.raises(VectorsError, match="pickle"):
        read_table(tmp_path / "x.kv", limit=None)
    for is_binary in (True, False):
        keyed.save_word2vec_format(str(tmp_path / "x"), binary=is_binary)
        np.testing.assert_array_equal(read_table(tmp_path / "x", limit=None)[1], MATRIX)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="found none; check the path"):
        read_table(tmp_path / "none", limit=None)
    with pytest.raises(VectorsError, match="cannot be read"):
        read_table(tmp_path, limit=None)


@pytest.mark.parametrize("name", ["x.bin", "x.bin.gz"])
def test_written_files_read_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_table(path, WORDS, MATRIX)
    words, matrix = read_table(path, limit=None)
    assert words == WORDS
    np.testing.assert_array_equal(matrix, MATRIX)
    first = path.read_bytes()
    assert (first[:2] == b"\x1f\x8b") == name.endswith(".gz")
    write_table(path, WORDS, MATRIX)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("word", ["", "two words", "line\n", "\ud800"])
def test_words_that_cannot_be_written(tmp_path: Path, word: str) -> None:
    with pytest.raises(VectorsError, match="cannot write the word"):
        write_table(tmp_path / "x.bin", [word], MATRIX[:1])
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "x.bin"
    write_table(path, WORDS, MATRIX)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(vector_files, "_write_rows", fail)
    with pytest.raises(OSError, match="disk full"):
        write_table(path, WORDS[:1], MATRIX[:1])
    assert read_table(path, limit=None)[0] == WORDS
    assert list(tmp_path.iterdir()) == [path]
