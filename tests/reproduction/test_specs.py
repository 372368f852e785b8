"""The packaged plan has every cell of the paper's tables, on fair terms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from adasent.errors import ConfigError
from reproduction.paper import paper, paper_sets
from reproduction.specs import Experiments, experiments


def test_rows_are_the_papers() -> None:
    systems = experiments().systems.values()
    assert [system.title for system in systems] == list(paper()["table2"])
    assert [system.title for system in systems if system.table3] == list(paper()["table3"])


def test_table2_has_every_cell_and_both_rules() -> None:
    runs = experiments().runs("table2")
    cells = Counter((u.system, u.data, u.rule) for u in runs)
    # Ten folds, or ten seeds where there is one split and chance plays a part.
    expected = {
        (system, data, rule): 1 if data == "TREC" and system in ("mnb", "nbsvm") else 10
        for system in experiments().systems
        for data in paper_sets()
        for rule in ("random", "grouped")
        if rule == "random" or data in ("CR", "MPQA", "TREC")
    }
    assert cells == expected
    assert len(set(runs)) == len(runs)


def test_table3_has_ten_runs_a_cell() -> None:
    runs = experiments().runs("table3")
    assert Counter((u.system, u.data) for u in runs) == {
        (system.name, data): 10
        for system in experiments().systems.values()
        if system.table3
        for data in paper_sets()
    }
    assert {u.fold for u in runs} == {0}


def test_every_system_tries_as_many_different_settings() -> None:
    plan = experiments()
    for run in plan.runs("table2", sets=["TREC"]):
        tried = plan.settings(run)
        assert len(tried) == plan.protocol.n_settings
        assert tried[0] == {}
        assert all(a != b for i, a in enumerate(tried) for b in tried[:i])
    for system in ("adasent", "rnn"):
        drawn = [plan.settings(u)[0] for u in plan.runs("table3", ["CR"], [system])]
        assert len({tuple(setting.values()) for setting in drawn}) == 10
        assert all(
            setting[k] in plan.systems[system].space[k] for setting in drawn for k in setting
        )


def test_names_in_any_form() -> None:
    runs = experiments().runs("table2", sets=["trec"], systems=["P.V.", "NBSVM"])
    assert [(u.system, u.rule) for u in runs if u.seed == 0] == [
        ("paragraph-vector", "random"),
        ("paragraph-vector", "grouped"),
        ("nbsvm", "random"),
        ("nbsvm", "grouped"),
    ]
    with pytest.raises(ConfigError, match="did you mean 'adasent'"):
        experiments().runs("table2", systems=["adasend"])
    with pytest.raises(ConfigError, match="unknown data set"):
        experiments().runs("table2", sets=["MRR"])


def test_the_spec_changes_with_what_matters(plan: Experiments, toy_registry: None) -> None:
    one, two = plan.runs("table2", ["MR"], ["adasent"])[:2]
    assert plan.spec(one, {}, []) == plan.spec(two, {}, [])  # the fold is not part of it
    other = Experiments(replace(plan.protocol, dev_fraction=0.2), plan.systems)
    assert other.spec(one, {}, []) != plan.spec(one, {}, [])
    system = replace(plan.systems["adasent"], variants=({"rate": 9},))
    other = Experiments(plan.protocol, {"adasent": system})
    assert other.spec(one, {}, []) != plan.spec(one, {}, [])


def test_systems_must_try_as_many_settings(plan: Experiments) -> None:
    system = replace(plan.systems["adasent"], variants=())
    with pytest.raises(ConfigError, match="tries 2 settings, the defaults among them; got 0"):
        Experiments(plan.protocol, {"adasent": system})


def test_a_space_that_is_too_small(plan: Experiments) -> None:
    with pytest.raises(ConfigError, match="4 settings, 5 are to be tried"):
        plan.systems["adasent"].draws(5, 0)
