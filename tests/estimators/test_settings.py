"""Settings read from the source of the estimators, against the estimators themselves."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from adasent.estimators.registry import SYSTEMS, find
from adasent.estimators.settings import settings_of


@pytest.mark.parametrize("system", SYSTEMS)
def test_names_and_defaults_are_those_of_the_estimator(system: str) -> None:
    parameters = inspect.signature(find(system)).parameters
    expected = {name: one.default for name, one in parameters.items()}
    found = {name: one.default for name, one in settings_of(system).items()}
    assert found == expected
    for name, value in found.items():
        assert type(value) is type(expected[name])
        kinds = settings_of(system)[name].kinds
        assert type(value).__name__ in (*kinds, "NoneType") or "Any" in kinds
        assert value is not None or kinds & {"None", "Any"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_says_what_it_is_in_a_line(system: str) -> None:
    untold = [name for name, one in settings_of(system).items() if not one.help]
    assert set(untold) <= {"parser", "treebank"}  # which only Python can give
    assert all("\n" not in one.help for one in settings_of(system).values())


def test_what_a_system_says_of_its_own_wins() -> None:
    assert settings_of("mv-recnn")["hidden_size"].help.startswith("D: vectors have D numbers")
    assert settings_of("nbsvm")["random_state"].help.startswith("Seed of the order")
    assert settings_of("adasent")["epochs"].help.startswith("Epochs, at most: passes over")


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys\n"
        "from adasent.estimators.settings import settings_of\n"
        "from adasent.estimators.registry import SYSTEMS\n"
        "assert all(map(settings_of, SYSTEMS))\n"
        "heavy = {'torch', 'sklearn', 'gensim', 'numba'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
