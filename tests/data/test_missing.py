"""Rows that lack something, rows as pandas counts them, weights, names, and Excel."""

import io
import json
import sys

import pytest

from adasent.data import load, stream_texts
from adasent.errors import ConfigError, DataError, MissingDependencyError, on_a_command_line

BODY = 'id,text,label,w\n1,a,x,1\n2,,y,1\n\n3,"b\nc",,2\n4,d,y,\n \n5,e,x,0.5\n6, ," ",1\n7,f,y,3\n'


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(BODY, encoding="utf-8")
    return path


def test_what_is_missing_is_counted_over_the_whole_file(file):
    message = (
        r"a.csv: 3 of 7 rows cannot be used: 2 without a text in 'text', 2 without a label in "
        r"'label' \(the first: line 3, row 1\); fill them in, or skip them with skip_missing=True"
    )
    with pytest.raises(DataError, match=message):
        load(file)
    with on_a_command_line(), pytest.raises(DataError, match=r"skip them with --skip-missing$"):
        load(file)


def test_rows_join_to_pandas(file):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(file)
    corpus = load(file, skip_missing=True, weight="w", id="id")
    assert corpus.texts == ["a", "e", "f"]
    assert frame.text[corpus.rows].tolist() == corpus.texts
    assert frame.id[corpus.rows].astype(str).tolist() == corpus.ids == ["1", "5", "7"]
    assert frame.w[corpus.rows].tolist() == corpus.weights == [1.0, 0.5, 3.0]
    assert corpus.notes == [
        "2 blank lines skipped",
        "4 of 7 rows skipped: 2 without a text in 'text', 2 without a label in 'label', "
        "1 without a weight in 'w' (rows 1, 2, 3, 5)",
    ]
    assert corpus.columns == {"text": "text", "label": "label", "weight": "w", "id": "id"}


@pytest.mark.parametrize("body", ["text,label\na,1\n\n  \nb,2\n", "\n\ntext,label\na,1\nb,2\n"])
def test_rows_behind_blank_lines_join_too(tmp_path, body):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "a.csv"
    path.write_text(body, encoding="utf-8")
    corpus = load(path)
    assert pandas.read_csv(io.StringIO(body)).text[corpus.rows].tolist() == corpus.texts
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"text": "a"}\n\n{"text": "b"}\n', encoding="utf-8")
    frame = pandas.read_json(lines, lines=True)
    assert [(row, frame.text[row]) for row, _ in stream_texts(lines)] == list(stream_texts(lines))


@pytest.mark.parametrize("label", ["None", "NA", "nan", "null", "0", "-"])
def test_labels_that_only_look_like_nothing(tmp_path, label):
    path = tmp_path / "a.csv"
    path.write_text(f"text,label\na,{label}\nb,x\n", encoding="utf-8")
    assert load(path).labels == [label, "x"]
    path.write_text("text,label\na,0\nb,1\n", encoding="utf-8")
    assert load(path).labels == [0, 1]


def test_an_empty_string_that_a_format_tells_from_nothing_is_a_text(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"text": "", "label": 0}, {"text": None, "label": False}, {"text": "b", "label": 0.0}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    corpus = load(path, skip_missing=True)
    assert (corpus.texts, corpus.labels, corpus.rows) == (["", "b"], [0, 0.0], [0, 2])


@pytest.mark.parametrize("weight", ["-1", "much", "inf", "true"])
def test_weights_that_are_none(tmp_path, weight):
    path = tmp_path / "a.csv"
    path.write_text(f"text,label,w\na,x,{weight}\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2, row 0: expected a weight of 0 or more"):
        load(path, weight="w")


def test_columns_are_hinted_at(file):
    with on_a_command_line(), pytest.raises(DataError, match=r"--label lable: .*mean 'label'\?"):
        load(file, label="lable")
    with on_a_command_line(), pytest.raises(ConfigError, match="name another with --label COL"):
        load(file, label="text")
    with (
        on_a_command_line(),
        pytest.raises(ConfigError, match="leave --text and --sheet out"),
    ):
        load("MR", text="x", sheet="y")


# -- Excel ---------------------------------------------------------------------------------------


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def _write(*sheets, name="a.xlsx"):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets:
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return _write


def test_excel_cells_keep_their_types_and_rows_join(workbook):
    pandas = pytest.importorskip("pandas")
    rows = [["text", "label"], ["a, b", 1], [None, None], [7, 2.0], ["", 3], ["c", 0], [None, None]]
    path = workbook(("Data", rows))
    corpus = load(path, skip_missing=True)
    assert (corpus.texts, corpus.labels) == (["a, b", "7", "c"], [1, 2, 0])
    assert all(type(label) is int for label in corpus.labels)
    frame = pandas.read_excel(path)
    assert frame.text[corpus.rows].astype(str).tolist() == corpus.texts
    assert corpus.read_as == []
    with pytest.raises(DataError, match=r"without a text in 'text' .the first: line 5, row 3"):
        load(path)


def test_excel_sheets(workbook):
    path = workbook(
        ("First", [["text", "label"], ["a", "x"]]), ("Second", [["text", "label"], ["b", "y"]])
    )
    assert load(path).read_as == ["sheet 'First', the first of 2 (sheet)"]
    assert load(path, sheet="Second").texts == ["b"]
    with pytest.raises(DataError, match="no sheet 'Secnod'; did you mean 'Second'"):
        load(path, sheet="Secnod")
    with pytest.raises(DataError, match="no rows"):
        load(workbook(("Empty", []), name="empty.xlsx"))
    with pytest.raises(DataError, match="line 2: a cell to the right of the last column"):
        load(workbook(("A", [["text", "label"], ["a", "x", "lost"]]), name="wide.xlsx"))
    with pytest.raises(ConfigError, match="has no delimiter"):
        load(path, delimiter=";")


def test_sheet_of_what_has_none_and_excel_that_is_none(file, tmp_path):
    with pytest.raises(ConfigError, match=r"sheet: .*no Excel file"):
        load(file, sheet="A")
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK no")
    with pytest.raises(DataError, match="as Excel"):
        load(path)


def test_excel_without_openpyxl_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "a.xlsx").write_bytes(b"")
    with pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[excel\]'"):
        load(tmp_path / "a.xlsx")
