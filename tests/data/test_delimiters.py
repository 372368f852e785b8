"""Separators of files as people have them, some of which lead a counter of characters astray."""

import pytest

from adasent.data import load, stream_texts
from adasent.data.delimiters import NONE, SAMPLE, find_delimiter, parse_delimiter
from adasent.errors import ConfigError, DataError

COMMAS = "Well, yes, it was good, and long, and red"
FILES = {
    "commas": (",", "text,label\na b,1\nc,2\n"),
    "semicolons": (";", "text;label\na b;1\nc;2\n"),
    "tabs": ("\t", "text\tlabel\na b\t1\nc\t2\n"),
    "pipes": ("|", "text|label\na b|1\nc|2\n"),
    "texts full of commas": (";", f"text;label\n{COMMAS};1\n{COMMAS}, but;2\n" * 30),
    "as many commas in each text as separators": (";", "text;label\na, b;1\nc, d;2\ne, f;1\n"),
    "decimal commas": (";", "text;score;label\na;1,5;x\nb;2,5;y\n"),
    "semicolons in texts": (",", 'text,label\n"a; b; c",1\nd; e; f,2\n'),
    "quoted separators": (",", '"text","label"\n"a;b;c;d","1"\n"e;f;g;h","2"\n'),
    "a quoted header with commas": (";", '"good, or bad?";label\nyes, very;1\nno, not;2\n'),
    "an unquoted header with commas": (";", "id;good, or bad?;label\n1;yes, very;1\n2;no;2\n"),
    "line breaks in quotes": (";", 'text;label\n"a\n\nb, c";1\n"d ""e"", f\n";2\n'),
    "doubled quotes": (";", 'text;label\n"say ""hi"", you";1\n"""x""";2\n'),
    "blank lines and Windows": (";", "\r\ntext;label\r\n\r\na, b;1\r\n"),
    "header alone": (";", "text;label\n"),
    "one row": ("|", "text|label\na, b; c|1\n"),
    "one column": (NONE, "text\nhello, world\na; b; c\nplain\n"),
    "one column whose name has a comma": (
        NONE,
        "What did you like, and why?\n"
        "the food\nnothing at all\nthe sea, the sun, the sand\na, b, c, d\n",
    ),
    "pipes in texts of tabs": ("\t", "text\tlabel\na | b | c\t1\nd | e\t2\n"),
    "urls": (",", "text,label\nhttp://x.org/?a=1;b=2|c,1\nsee http://y.org,2\n"),
    "some broken rows": (",", "text,label\na,1\nb, c,2\nd,1\ne,2\n"),
    "empty fields": (";", "id;text;label\n;a;\n;;\n;b;1\n"),
    "trailing separator": (";", "text;label;\na, b;1;\nc, d, e;2;\n"),
    "emoji and NUL": (";", "text;label\n\U0001f600, \0;1\nb;2\n"),
}


@pytest.mark.parametrize("name", FILES)
def test_separator_is_found(name):
    expected, body = FILES[name]
    found, lines = find_delimiter(iter(body.splitlines(keepends=True)))
    assert found == expected
    assert "".join(lines) == body


def test_only_the_start_of_a_large_file_is_read():
    def endless():
        yield "text;label\n"
        while True:
            yield f"{COMMAS};1\n"

    found, lines = find_delimiter(endless())
    assert found == ";"
    assert next(lines) == "text;label\n"


def test_a_quoted_field_longer_than_what_is_looked_at():
    body = ["text;label\n", '"a, b\n', *["c, d, e\n"] * SAMPLE, '";1\n']
    assert find_delimiter(iter(body))[0] == ";"


def test_files_are_read_with_it_and_say_so(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"Kommentar;label\n{COMMAS};x\n", encoding="utf-8")
    corpus = load(path, text="Kommentar")
    assert (corpus.texts, corpus.labels) == ([COMMAS], ["x"])
    assert corpus.read_as == ["semicolon between fields"]
    path.write_text("text\nhello, world\nbye\n", encoding="utf-8")
    assert [text for _, text in stream_texts(path)] == ["hello, world", "bye"]


def test_it_can_be_given(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("text^label\na;b^1\n", encoding="utf-8")
    assert load(path, delimiter="^").texts == ["a;b"]
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"text": "a", "label": 1}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="has no delimiter"):
        load(lines, delimiter=",")
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,1\nb,c,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 3: expected 2 fields .* delimiter=\.\.\."):
        load(path)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("semicolon", ";"), ("Tab", "\t"), ("\\t", "\t"), ("none", NONE), ("~", "~")],
)
def test_names(given, expected):
    assert parse_delimiter(given) == expected


@pytest.mark.parametrize("given", ["", "::", '"', "\n"])
def test_what_cannot_separate(given):
    with pytest.raises(ConfigError, match="expected one character"):
        parse_delimiter(given)
