import csv
import gzip
import hashlib
import io
import json
import sys
import tracemalloc

import pytest

from adasent.data import load, stream_texts
from adasent.errors import ConfigError, DataError, MissingDependencyError


@pytest.fixture
def write(tmp_path):
    """Write bytes or text to a file of that name."""

    def _write(name, body):
        path = tmp_path / name
        path.write_bytes(body.encode() if isinstance(body, str) else body)
        return path

    return _write


@pytest.fixture
def parquet(tmp_path):
    """Write columns to a Parquet file."""
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    def _write(**columns):
        path = tmp_path / "rows.parquet"
        pyarrow.parquet.write_table(arrow.table(columns), path)
        return path

    return _write


def rows(path, **options):
    corpus = load(path, **options)
    return list(zip(corpus.texts, corpus.labels, strict=True))


# --- CSV -------------------------------------------------------------------------------------


def test_csv_with_quotes_line_breaks_and_crlf(write):
    path = write(
        "a.csv", 'id,text,label\r\n1,"say ""hi"", you",pos\r\n2,"two\r\nlines\x85",neg\r\n'
    )
    assert rows(path) == [('say "hi", you', "pos"), ("two\r\nlines\x85", "neg")]
    corpus = load(str(path))
    assert corpus.name == "a.csv"
    assert corpus.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_csv_byte_order_mark(write):
    assert rows(write("a.csv", "\ufefftext,label\ncafé,x\n")) == [("café", "x")]


def test_csv_columns_by_name(write):
    path = write("a.csv", "text,body,label,stars\na,b,c,5\n")
    assert rows(path, text="body", label="stars") == [("b", 5)]


def test_csv_columns_are_guessed_in_any_case_where_one_alone_is_likely(write):
    corpus = load(write("a.csv", "Class, Sentence ,id\nx,s,1\n"))
    assert (corpus.texts, corpus.labels) == (["s"], ["x"])
    assert corpus.columns == {"text": " Sentence ", "label": "Class"}
    path = write("b.csv", "class,sentence,review,label,stars\nx,s,r,1,2\n")
    with pytest.raises(DataError, match=r"'sentence', 'review' all look like the text; .* text="):
        load(path)
    assert rows(path, text="review") == [("r", 1)]  # a column that is called label is the label


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0", "1"], [0, 1]),
        (["-3", "12"], [-3, 12]),
        (["1", "x"], ["1", "x"]),
        (["01", "2"], ["01", "2"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["1_0", "2"], ["1_0", "2"]),
        (["-0", "2"], ["-0", "2"]),
        (["9" * 30, "2"], ["9" * 30, "2"]),
        (["True", "False"], ["True", "False"]),
    ],
)
def test_csv_labels_are_integers_only_if_all_print_back(write, labels, expected):
    body = "text,label\n" + "".join(f"t,{label}\n" for label in labels)
    loaded = load(write("a.csv", body)).labels
    assert loaded == expected
    assert [type(label) for label in loaded] == [type(label) for label in expected]


def test_csv_nul_bytes_are_kept(write):
    assert rows(write("a.csv", "text,label\na\0b,x\n\0,y\n")) == [("a\0b", "x"), ("\0", "y")]


def test_csv_huge_field_and_the_global_limit_stays(write):
    before = csv.field_size_limit()
    path = write("a.csv", "text,label\n" + "w" * 10_000_000 + ",x\n")
    assert [len(text) for text, _ in rows(path)] == [10_000_000]
    assert csv.field_size_limit() == before


def test_csv_blank_lines_are_counted(write):
    corpus = load(write("a.csv", "\ntext,label\n\na,x\n\n"))
    assert corpus.texts == ["a"]
    assert corpus.notes == ["3 blank lines skipped"]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('text,label\n"a\nb",x\nc,y,z\n', r"line 4: expected 2 fields as in the header, got 3"),
        ("text,label\na\n", r"line 2: expected 2 fields as in the header, got 1"),
        (
            'text,label\n"a\n\nb",x\nc,\n',
            r"1 of 2 rows cannot be used: 1 without a label .*the first: line 5, row 1\)",
        ),
        ("text,label\na,  \n", r"1 of 1 row cannot be used: 1 without a label in 'label'"),
        ('text,label\na,x\n"b,y\nc,z\n', r"line 3: the row that starts here is not valid CSV"),
        ('text,label\n"a"b,x\n', r"line 2: the row that starts here is not valid CSV"),
        ("text,label\rb,x\nc,y\n", r"line 1: the row that starts here is not valid CSV"),
        ("text,label\n", r"holds no rows"),
        ("", r"holds no rows"),
        ("text,text,label\na,b,x\n", r"two columns are called 'text'"),
        ("words,label\na,x\n", r"no column looks like the text .*the columns are 'words', 'label'"),
        ("text,kind\na,x\n", r"no column looks like the label .* name it with label=\.\.\."),
    ],
)
def test_csv_errors_name_file_and_line(write, body, complaint):
    with pytest.raises(DataError, match=rf"a\.csv.*{complaint}"):
        load(write("a.csv", body))


def test_unknown_column_lists_those_there_are(write):
    path = write("a.csv", "text,label\na,x\n")
    with pytest.raises(
        DataError, match=r"text='txt': there is no such column; did you mean 'text'. the columns"
    ):
        load(path, text="txt")
    with pytest.raises(ConfigError, match="'text' cannot be both text and label"):
        load(path, label="text")


# --- encodings -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_before", [0, 1, 5000])
def test_invalid_bytes_name_the_line(write, n_before):
    path = write("a.csv", b"text,label\n" + b"fine,x\n" * n_before + b"caf\xe9,x\nlast,y\n")
    with pytest.raises(
        DataError,
        match=rf"line {n_before + 2}: byte 0xe9 is not utf-8; .*'café'.*encoding='cp1252'",
    ):
        load(path)


def test_encoding_can_be_named(write):
    assert rows(write("a.csv", b"text,label\ncaf\xe9,x\n"), encoding="cp1252") == [("café", "x")]
    path = write("b.csv", "text,label\ncafé,x\n".encode("utf-16"))
    assert rows(path, encoding="utf-16") == [("café", "x")]


@pytest.mark.parametrize("encoding", ["klingon", "base64"])
def test_unknown_encoding(write, encoding):
    with pytest.raises(ConfigError, match=f"unknown text encoding '{encoding}'"):
        load(write("a.csv", "text,label\na,x\n"), encoding=encoding)


# --- TSV -------------------------------------------------------------------------------------


def test_tsv_keeps_quotes_and_commas(write):
    path = write("a.tsv", 'text\tlabel\r\n"a, b\t1\r\n\r\nit "is"\t0\r\n')
    assert rows(path) == [('"a, b', 1), ('it "is"', 0)]


def test_tsv_ragged_row(write):
    with pytest.raises(DataError, match=r"line 3: expected 2 fields .* got 3"):
        load(write("a.tsv", "text\tlabel\na\tx\nb\tc\tx\n"))


# --- JSON lines ------------------------------------------------------------------------------


def test_jsonl_keeps_types(write):
    labels = ["a", 1, True, 0.5, -7]
    body = "\n".join(json.dumps({"text": "t", "label": label}) for label in labels) + "\n\n"
    corpus = load(write("a.jsonl", body))
    assert corpus.labels == labels
    assert [type(label) for label in corpus.labels] == [str, int, bool, float, int]
    assert corpus.notes == ["1 blank line skipped"]


def test_jsonl_lone_surrogate_and_extra_keys(write):
    path = write("a.ndjson", '{"label": 1, "text": "\\ud83d"}\n{"text": "b", "label": 2, "id": 3}')
    assert rows(path) == [("\ud83d", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"text": "a"', "line 2: not valid JSON"),
        ("[1, 2]", "line 2: expected a JSON object, got list"),
        ('{"text": null, "label": 1}', "1 without a text in 'text' .the first: line 2, row 1"),
        ('{"label": 1}', "1 without a text in 'text' .the first: line 2, row 1"),
        ('{"text": 5, "label": 1}', "line 2, row 1: expected a string in column 'text', got int"),
        ('{"text": "a"}', "1 without a label in 'label'"),
        ('{"text": "a", "label": null}', "1 without a label in 'label'"),
        ('{"text": "a", "label": NaN}', "1 without a label in 'label'"),
        ('{"text": "a", "label": ""}', "1 without a label in 'label'"),
        ('{"text": "a", "label": ["x", "y"]}', "a list of labels in 1 row"),
        (
            '{"text": "a", "label": {"x": 1}}',
            "line 2, row 1: expected one string, number or boolean",
        ),
        ("[" * 100_000, "line 2: not valid JSON"),
    ],
)
def test_jsonl_errors(write, line, complaint):
    with pytest.raises(DataError, match=complaint):
        load(write("a.jsonl", '{"text": "a", "label": 1}\n' + line + "\n"))


# --- Parquet ---------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [["a", "b"], [1, 2], [True, False], [0.5, 1.5]])
def test_parquet_keeps_types(parquet, labels):
    path = parquet(text=["x", "y\n"], label=labels)
    assert rows(path) == list(zip(["x", "y\n"], labels, strict=True))
    assert type(load(path).labels[0]) is type(labels[0])


def test_parquet_rows_are_numbered_across_batches(parquet):
    texts = ["t"] * 5000
    texts[4500] = None
    with pytest.raises(
        DataError, match=r"1 of 5,000 rows .* 1 without a text in 'text' \(the first: row 4500\)"
    ):
        load(parquet(text=texts, label=[1] * 5000))


def test_parquet_errors(write, parquet):
    with pytest.raises(DataError, match="the columns are 'a', 'b'"):
        load(parquet(a=["x"], b=["y"]))
    with pytest.raises(DataError, match=r"1 of 1 row .*without a label"):
        load(parquet(text=["x"], label=[None]))
    with pytest.raises(DataError, match=r"row 0: expected one string, number .* got bytes"):
        load(parquet(text=["x"], label=[b"y"]))
    with pytest.raises(DataError, match="as Parquet"):
        load(write("bad.parquet", b"PAR1 no"))


def test_parquet_without_pyarrow_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[tables\]'"):
        load(write("a.parquet", b""))


# --- fastText --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.ft", "a.fasttext", "a.txt", "a.train", "noending"])
def test_fasttext_by_ending_or_first_line(write, name):
    path = write(name, "__label__pos good , film\r\n\n__label__1\tbad\n__label__neg\n")
    corpus = load(path)
    assert corpus.texts == ["good , film", "bad", ""]
    assert corpus.labels == ["pos", "1", "neg"]
    assert corpus.columns == {}  # which have no names in the file
    assert corpus.notes == ["1 blank line skipped"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("just text", "line 2: expected '__label__NAME text', got 'just text'"),
        ("__label__ x", "line 2: expected '__label__NAME text'"),
        ("__label__a __label__b text", "line 2: more than one __label__"),
        ("__label__a text __label__b", "line 2: more than one __label__"),
    ],
)
def test_fasttext_errors(write, line, complaint):
    with pytest.raises(DataError, match=complaint):
        load(write("a.txt", "__label__a fine\n" + line + "\n"))


# --- which file, which name ------------------------------------------------------------------


def test_registry_name_wins_over_a_file_unless_a_path_is_given(write, tmp_path, monkeypatch, cache):
    write("MR", "__label__x text\n")
    monkeypatch.chdir(tmp_path)
    assert rows("./MR") == [("text", "x")]
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path / "gone"))
    with pytest.raises(OSError, match="ADASENT_DATA"):
        load("mr")


def test_neither_file_nor_name(tmp_path):
    with pytest.raises(DataError, match=r"no file and no .* 'TRCE'; did you mean 'TREC'\?"):
        load("TRCE")
    with pytest.raises(DataError, match=r"no file and no registered set called '.*a\.csv'$"):
        load(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.xls", "a.json"])
def test_unknown_format_lists_the_known(write, name):
    path = write(name, b"\xff\xfe{}")
    with pytest.raises(DataError, match=r"unknown format; expected a file ending in \.csv"):
        load(path)
    with pytest.raises(DataError, match="unknown format"):
        list(stream_texts(path))


def test_folder_is_not_a_file(tmp_path):
    with pytest.raises(DataError, match="Is a directory"):
        load(tmp_path)


def test_split_is_for_registry_sets(write):
    with pytest.raises(ConfigError, match="a file has no official split"):
        load(write("a.csv", "text,label\na,x\n"), split="test")


# --- streaming -------------------------------------------------------------------------------


def test_stream_plain_lines(write):
    path = write("a.txt", b"\xef\xbb\xbfone\r\n\ntwo\x0b\xc2\x85 and\r\r\nlast")
    texts = [(0, "one"), (1, ""), (2, "two\x0b\x85 and\r"), (3, "last")]
    assert list(stream_texts(path)) == texts
    assert list(stream_texts(str(path))) == texts


def test_stream_standard_input_stays_open(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"__label__x one\ntwo\n")

    monkeypatch.setattr("sys.stdin", Stdin)
    assert list(stream_texts("-")) == [(0, "__label__x one"), (1, "two")]
    assert not Stdin.buffer.closed


def test_stream_standard_input_that_is_not_text(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"one\n\xff\n")

    monkeypatch.setattr("sys.stdin", Stdin)
    with pytest.raises(DataError, match="-, line 2: byte 0xff is not utf-8"):
        list(stream_texts("-"))


def test_stream_tables_need_no_label(write, parquet):
    path = write("a.csv", 'id,text\n1,"a\nb"\n\n2,c\n')
    assert list(stream_texts(path)) == [(0, "a\nb"), (1, "c")]
    assert list(stream_texts(path, text="id")) == [(0, "1"), (1, "2")]
    assert list(stream_texts(write("a.tsv", "x\ttext\n1\ta\n"))) == [(0, "a")]
    assert list(stream_texts(write("a.jsonl", '{"text": "a"}\n\n{"text": "b"}'))) == [
        (0, "a"),
        (1, "b"),
    ]
    assert list(stream_texts(parquet(text=["a", "b"]))) == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("name", ["a.ft", "a.txt"])
def test_stream_fasttext_leaves_labels_out(write, name):
    path = write(name, "__label__x one\n\n__label__y two\n")
    assert list(stream_texts(path)) == [(0, "one"), (1, "two")]


@pytest.mark.parametrize("name", ["t.txt.gz", "t.CSV.GZ"])
def test_gzipped_text(write, name):
    body = "text,label\nfirst,a\n\nlast,b\n" if "CSV" in name else "first\n\nlast\n"
    path = write(name, gzip.compress(body.encode()))
    texts = [text for _, text in stream_texts(path)]
    assert texts == (["first", "last"] if "CSV" in name else ["first", "", "last"])
    if "CSV" in name:
        assert load(path).labels == ["a", "b"]
    for damaged in (path.read_bytes()[:-9], b"no gzip at all", path.read_bytes()[:-9] + b"1" * 20):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="damaged or cut short; get the file again"):
            list(stream_texts(path))


def test_stream_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*gone\.txt: No such file"):
        next(stream_texts(tmp_path / "gone.txt"))


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_stream_memory_does_not_grow_with_the_file(write, name):
    path = write(name, "text\n" + "some words of text\n" * 100_000)
    tracemalloc.start()
    n_texts = sum(1 for _ in stream_texts(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_texts in (100_000, 100_001)
    assert peak < 700_000  # of a file of 1.9 MB
