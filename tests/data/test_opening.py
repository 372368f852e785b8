"""Encodings, byte order marks and line ends of users' files."""

import gzip

import pytest

from adasent.data import load, stream_texts
from adasent.errors import ConfigError, DataError, on_a_command_line

BODY = "text;label\ncafé, “yes”;x\nnaïve;y\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("packed", [False, True])
def test_marks_tell_the_encoding(tmp_path, encoding, packed):
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    body = BODY.encode(encoding)
    path.write_bytes(gzip.compress(body) if packed else body)
    corpus = load(path)
    assert corpus.texts == ["café, “yes”", "naïve"]
    expected = [encoding.upper()] if encoding in ("utf-16", "utf-32") else []
    assert corpus.read_as == [*expected, "semicolon between fields"]


def test_big_endian_and_jsonl(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xfe\xff" + '{"text": "é"}\n'.encode("utf-16-be"))
    assert list(stream_texts(path)) == [(0, "é")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_named_not_read_as_zeros(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(BODY.encode(encoding))
    with pytest.raises(DataError, match=f"every second byte .* add encoding='{encoding}'"):
        load(path)
    assert load(path, encoding=encoding).texts[0] == "café, “yes”"


def test_cp1252_is_refused_with_what_it_would_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(BODY.encode("cp1252"))
    with pytest.raises(DataError, match=r"line 2: byte 0xe9 .*'café'.* add encoding='cp1252'"):
        load(path)
    with on_a_command_line(), pytest.raises(DataError, match="add --encoding cp1252"):
        load(path)
    assert load(path, encoding="cp1252").texts[0] == "café, “yes”"


def test_bytes_that_are_not_cp1252_either(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,label\n\x81\x8d,x\n")
    with pytest.raises(DataError, match="name its encoding, such as encoding='cp1252'"):
        load(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_line_ends(tmp_path, end, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(f'text,label{end}"two{end}lines",x{end}b,y{end}'.encode(encoding))
    assert load(path).texts == [f"two{end}lines", "b"]
    plain = tmp_path / "a.txt"
    plain.write_bytes(f"one{end}{end}two".encode(encoding))
    assert list(stream_texts(plain)) == [(0, "one"), (1, ""), (2, "two")]


def test_a_carriage_return_inside_a_line_stays_where_lines_end_otherwise(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\rmore\ntwo\n")
    assert [text for _, text in stream_texts(path)] == ["one\rmore", "two"]


@pytest.mark.parametrize(
    ("encoding", "body", "remedy"),
    [
        ("utf-16", BODY.encode("utf-16-le"), "as in utf-16-le: add encoding='utf-16-le'"),
        ("utf-16", BODY.encode("utf-16-be"), "as in utf-16-be: add encoding='utf-16-be'"),
        ("utf-32", BODY.encode("utf-32-le"), "name another with encoding=..."),
        ("idna", b"text,label\n", "the encoding idna does not fit"),
        ("punycode", b"\xff\xfe", "the encoding punycode does not fit"),
        ("undefined", b"text,label\n", "the encoding undefined does not fit"),
    ],
)
def test_an_encoding_that_does_not_fit(tmp_path, encoding, body, remedy):
    for name in ("a.csv", "a.jsonl", "a.txt"):
        path = tmp_path / name
        path.write_bytes(body)
        with pytest.raises(DataError, match=f"a.*{remedy}"):
            load(path, encoding=encoding)


def test_an_encoding_with_a_nul_character(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\na,b\n")
    with pytest.raises(ConfigError, match="unknown text encoding"):
        load(tmp_path / "a.csv", encoding="utf-8\0")


@pytest.mark.parametrize("kind", ["timestamp", "date32", "duration"])
def test_dates_beyond_those_of_python(tmp_path, kind):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    units = {"timestamp": (2**62, "us"), "date32": (2**30,), "duration": (2**62, "s")}
    value, *unit = units[kind]
    when = arrow.array([value] * 2, getattr(arrow, kind)(*unit))
    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"text": ["a", "b"], "label": [0, 1], "when": when}), path)
    with pytest.raises(DataError, match=r"rows 0 to 1: column 'when' holds a .* out of range"):
        load(path)
