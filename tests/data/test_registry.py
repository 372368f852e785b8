import subprocess
import sys

import pytest

from adasent.data import corpora, describe, registered
from adasent.errors import ConfigError


def test_names_are_found_in_any_letter_case():
    assert describe("trec") is describe("TREC")
    assert describe("Snippets").name == "snippets"


def test_unknown_name_gets_a_spelling_hint():
    with pytest.raises(ConfigError, match=r"unknown data set 'TRCE'; did you mean 'TREC'\?"):
        describe("TRCE")


def test_corpora_are_the_entries_with_a_reader():
    assert corpora()[:5] == ["MR", "CR", "SUBJ", "MPQA", "TREC"]
    assert set(registered()) - set(corpora()) == {
        "minilm",
        "wiki-50d",
        "wiki-imdb-200d",
        "glove-100d",
        "sst",
        "questionbank",
    }


@pytest.mark.parametrize("name", registered())
def test_every_file_is_pinned_and_stays_below_the_folder(name):
    entry = describe(name)
    assert entry.files
    assert entry.licence
    for file in entry.files:
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.size > 0
        assert not file.path.startswith("/")
        assert ".." not in file.path.split("/")
        assert not (file.urls and file.package)
        assert all(url.startswith("https://") for url in file.urls)


@pytest.mark.parametrize("name", ["MR", "CR", "SUBJ", "MPQA", "TREC"])
def test_table_1_row_is_consistent(name):
    paper = describe(name).paper
    assert len(paper.shares) == paper.n_classes
    assert sum(paper.shares) == pytest.approx(1)


def test_importing_the_package_stays_light():
    heavy = ["torch", "sklearn", "gensim", "pandas", "pyarrow", "requests"]
    code = f"import sys, adasent.data; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
