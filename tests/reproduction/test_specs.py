"""The packaged plan has every cell of the paper's tables, on fair terms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from adasent.errors import ConfigError
from adasent.estimators import registry
from adasent.estimators.neural import network_size
from adasent.evaluation.records import read_records, record_key
from adasent.training.config import suited_to
from reproduction.jobs import NOT_CALIBRATED, WHOLE
from reproduction.paper import paper, paper_sets
from reproduction.specs import Experiments, PlannedRun, experiments

RESULTS = Path(__file__).parents[2] / "results"


def test_rows_are_the_papers() -> None:
    systems = experiments().systems.values()
    assert list(dict.fromkeys(row.in_paper for row in systems)) == list(paper()["table2"])
    assert list(dict.fromkeys(row.in_paper for row in systems if row.table3)) == list(
        paper()["table3"]
    )
    (twice,) = [row for row in systems if row.title != row.in_paper]
    assert (twice.name, twice.title) == ("adasent-paper", "AdaSent (paper)")


def test_the_papers_own_model_has_its_preset() -> None:
    plan = experiments()
    row = plan.systems["adasent-paper"]
    (run, *_) = plan.runs("table2", ["MR"], ["adasent-paper"])
    spec = plan.spec(run, registry.defaults("adasent") | row.base, [])
    assert (spec["system"], spec["of"]) == ("adasent-paper", "adasent")
    assert spec["defaults"]["optimizer"] == "adagrad"
    assert spec["defaults"]["dropout"] == spec["defaults"]["copy_bias"] == 0
    assert all(setting.keys() <= {"learning_rate", "penalty"} for setting in spec["settings"])


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the records are not shipped here")
def test_committed_records_of_rivals_keep_their_keys() -> None:
    plan = experiments()
    rows = [s for s in plan.systems.values() if s.name != "adasent"]
    for system in rows:
        for path in sorted((RESULTS / "table2" / system.name).glob("*.jsonl")):
            record = read_records(path)[0]
            run = PlannedRun("table2", system.name, record.data, record.rule, 0, record.n_folds, 0)
            defaults = registry.defaults(system.registered) | WHOLE
            if system.vectors:
                defaults |= NOT_CALIBRATED
                defaults |= {k: v for k, v in suited_to(556).items() if defaults[k] is None}
            found = plan.spec(
                run,
                defaults | system.base,
                record.spec.get("vectors", []),
                record.spec.get("trees"),
            )
            job = (record.seed, record.rule, record.n_folds, record.fold, record.sha256)
            assert record_key(found, *job) == record.key, path


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the records are not shipped here")
def test_a_file_holds_runs_of_one_kind() -> None:
    """So that a stranger's script needs no rule for which of its lines count."""
    for path in RESULTS.glob("*/*/*.jsonl"):
        ways, runs = set(), []
        for record in read_records(path):
            spec = {name: value for name, value in record.spec.items() if name != "settings"}
            ways.add(repr((spec, record.sha256, record.n_folds)))
            runs.append((record.fold, record.seed))
        assert len(ways) == 1, path
        assert len(set(runs)) == len(runs), path


def test_everything_planned_is_a_valid_network() -> None:
    plan = experiments()
    for table in ("table2", "table3", "ablations"):
        seen = set()
        for run in plan.runs(table, ["CR", "TREC"]):
            row = plan.row(run)
            for setting in plan.settings(run) if row.vectors else []:
                given = row.base | setting
                if (key := repr((row.registered, given))) not in seen:
                    seen.add(key)
                    assert network_size(registry.make(row.registered, **given), 7, 2).word >= 7


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
    # The same draw on the same fold, whatever the system; each fold once.
    folds = {(u.data, u.seed): u.fold for u in runs}
    assert all(folds[u.data, u.seed] == u.fold for u in runs)
    assert sorted(folds["MR", seed] for seed in range(10)) == list(range(10))
    assert {u.fold for u in runs if u.data == "TREC"} == {0}


def test_runs_of_table3_on_one_fold_are_those_of_before() -> None:
    plan = experiments()
    (run, *_) = plan.runs("table3", ["MR"], ["cbow"])
    assert plan.spec(run, {}, [])["folds"] == list(range(10))
    before = replace(plan, protocol=replace(plan.protocol, table3_folds=(0,)))
    assert {u.fold for u in before.runs("table3")} == {0}
    assert "folds" not in before.spec(run, {}, [])
    (official, *_) = plan.runs("table3", ["TREC"], ["cbow"])
    assert "folds" not in plan.spec(official, {}, [])


def test_further_folds() -> None:
    plan = experiments()
    runs = plan.runs("partitions")
    assert {u.system for u in runs} == {"adasent", "brnn", "cnn"}
    assert Counter((u.data, u.fold_seed) for u in runs if u.system == "cnn") == {
        (data, seed): 10 for data in paper_sets() for seed in (1, 2)
    }
    trec = [u for u in runs if (u.system, u.data) == ("brnn", "TREC")]
    assert [u.seed for u in trec] == list(range(10, 30))
    assert {u.seed for u in runs if (u.data, u.fold_seed) == ("MR", 2)} == {2}
    specs = [plan.spec(u, {}, []) for u in runs if (u.system, u.data) == ("cnn", "MR")]
    assert {spec["fold_seed"] for spec in specs} == {1, 2}
    assert plan.runs("partitions", systems=["rnn"]) == []


def test_ablations_have_sets_of_their_own() -> None:
    plan = experiments()
    cells = {(u.system, u.data) for u in plan.runs("ablations")}
    assert {data for name, data in cells if name == "height-8"} == set(paper_sets())
    assert {data for name, data in cells if name == "root-only"} == set(plan.protocol.ablated)
    assert [u.data for u in plan.runs("ablations", ["SUBJ"], ["root-only"])] == []


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
