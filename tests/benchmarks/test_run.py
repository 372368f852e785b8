"""Every benchmark of the CPU runs on tiny sizes, and what it yields becomes rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from adasent import AdaSentClassifier
from benchmarks import (
    inference,
    peers,
    registry,
    roofline,
    run,
    stages,
    systems,
    training,
    workloads,
)
from benchmarks.records import Result, read_rows
from benchmarks.registry import CPU, Sizes
from benchmarks.workloads import Split

TINY = Sizes(
    repeats=2,
    n_sentences=5,
    n_equal=2,
    n_steps=1,
    lengths=(2, 4),
    hidden_sizes=(8,),
    batch_sizes=(1, 2),
    memory_lengths=(16, 32),
)


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch, reviews: tuple[list[str], list[str]]) -> Split:
    """A few made-up reviews in the place of MR."""
    texts, labels = reviews
    made = Split(texts[:100], labels[:100], texts[100:], labels[100:])
    for module in (inference, roofline, training, peers, systems, workloads):
        if hasattr(module, "mr"):
            monkeypatch.setattr(module, "mr", lambda: made)
    return made


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, split: Split) -> Path:
    """A trained model where the benchmarks look for it."""
    monkeypatch.setattr(systems, "STORE", tmp_path)
    model = AdaSentClassifier(vector_size=8, hidden_size=8, gate_groups=4, epochs=1)
    model.fit(split.train_texts, split.train_labels)
    model.save(systems.adasent_path(TINY))
    return tmp_path


def units(results: list[Result]) -> set[tuple[str, str, str]]:
    return {(result.provider, result.unit, result.against) for result in results}


@pytest.mark.usefixtures("store")
def test_mr_gives_rates_and_their_ratios() -> None:
    results = list(inference.on_mr(TINY))
    by_name = {(r.provider, r.unit, r.against): np.array(list(r.values)) for r in results}
    assert len(by_name[("predict", "sentences/s", "")]) == TINY.repeats
    # A ratio is that of the same round, not of medians.
    np.testing.assert_allclose(
        by_name[("pyramid", "ratio", "padded")],
        by_name[("pyramid", "sentences/s", "")] / by_name[("padded", "sentences/s", "")],
    )


@pytest.mark.usefixtures("split")
def test_groups_are_compared_with_their_own_limit() -> None:
    results = list(inference.with_groups(TINY))
    for n_groups in (1, 25, 50, 100):
        assert {
            (f"predict, N = {n_groups}", "sentences/s", ""),
            (f"product, N = {n_groups}", "sentences/s", ""),
            (f"predict, N = {n_groups}", "ratio", "product"),
        } <= units(results)


@pytest.mark.usefixtures("split")
def test_shares_of_the_steps_are_all_of_the_time() -> None:
    results = [r for r in stages.stages(TINY) if r.provider.endswith("N = 25")]
    assert sum(next(iter(r.values)) for r in results) == pytest.approx(1)
    measured = {r.provider.removesuffix(", N = 25") for r in results}
    assert measured >= {*stages.STEPS} - {"climb"}
    assert all(next(iter(r.values)) > 0 for r in results if "units" not in r.provider)


def test_sweeps_give_a_point_for_each_size_and_an_exponent() -> None:
    results = list(inference.against_length(TINY))
    assert [r.shape.longest for r in results if (r.provider, r.unit) == ("pyramid", "s")] == [2, 4]
    assert results[-1].unit == "exponent"


@pytest.mark.usefixtures("split")
def test_sweeps_over_hidden_and_batch_size() -> None:
    assert {r.shape.hidden for r in inference.against_hidden_size(TINY)} == {8}
    assert {r.shape.batch for r in inference.against_batch_size(TINY)} == {1, 2}


@pytest.mark.usefixtures("split")
def test_roofline_relates_the_pyramid_to_the_machine() -> None:
    assert units(list(roofline.roofline(TINY))) >= {
        ("large product", "GFLOP/s", ""),
        ("copy", "GB/s", ""),
        ("pyramid", "ratio", "large product"),
        ("pyramid", "ratio", "copy"),
    }


@pytest.mark.usefixtures("store")
def test_memory_exponent_of_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "peak_mb", lambda provider, longest, folder: longest / 10)
    slopes = [r for r in inference.memory_against_length(TINY) if r.unit == "exponent"]
    assert [list(r.values) for r in slopes] == [[pytest.approx(1.0)]] * 2


@pytest.mark.usefixtures("split")
def test_training_compares_the_same_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def peak_mb(task: str, provider: str, batches: list[list[int]]) -> float:
        asked.append(batches)
        return 10.0 if provider == "adasent" else 50.0

    monkeypatch.setattr(training, "peak_mb", peak_mb)
    results = list(training.step(TINY))
    assert asked[0] == asked[1]
    assert asked[2] == asked[3]
    shares = [list(r.values) for r in results if r.unit == "share of memory"]
    assert shares == [[0.2], [0.2]]
    assert ("adasent", "ratio", "padded") in units(results)


def test_a_training_step_changes_every_weight() -> None:
    trainer = training.Trainer("padded")
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.run([np.array([3, 4])])
    after = list(trainer.model.parameters())
    assert all(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


@pytest.mark.usefixtures("store")
def test_peers_predict_the_same_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {name: systems.SYSTEMS[name] for name in ("adasent", "TF-IDF + LR", "NB-SVM")}
    monkeypatch.setattr(peers, "SYSTEMS", chosen)
    results = list(peers.on_mr(TINY))
    accuracy = {r.provider: next(iter(r.values)) for r in results if r.unit == "accuracy %"}
    assert accuracy["TF-IDF + LR"] == accuracy["NB-SVM"] == 100.0
    assert all(next(iter(r.values)) > 0 for r in results if r.unit == "MB")
    assert ("adasent", "ratio", "NB-SVM") in units(results)


def test_measuring_writes_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "QUICK", TINY)
    arguments = ["cpu", "--here", "--only", "length", "--quick", "--out", str(tmp_path)]
    assert run.main(arguments) == 0
    rows = read_rows(tmp_path / "cpu.csv")
    assert {row.name for row in rows} == {"length"}
    assert {row.threads for row in rows} == {1}


def test_each_benchmark_starts_a_process_with_its_threads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[tuple[str, int]] = []
    monkeypatch.setattr(
        run, "spawn", lambda command, threads: started.append((" ".join(command), threads))
    )
    assert run.main(["cpu", "--quick", "--out", str(tmp_path)]) == 0
    measured = [(command, threads) for command, threads in started if "--here" in command]
    assert [threads for _, threads in measured] == [b.threads for b in CPU.values()]
    assert all("--quick" in command for command, _ in started)
    prepared = [command for command, _ in started if "benchmarks.systems" in command]
    assert len(prepared) == sum(bool(b.systems) for b in CPU.values())


def test_every_name_leads_to_a_function() -> None:
    assert all(callable(benchmark.load()) for benchmark in registry.CPU.values())


def test_gpu_without_cuda_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert run.main(["gpu"]) == 1
    assert "CUDA" in capsys.readouterr().err


def test_gpu_scripts_are_told_where_to_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(run, "tee", lambda command, log: started.append(command[1:]))
    assert run.main(["gpu", "--out", str(tmp_path), "--vectors", str(tmp_path)]) == 0
    vectors = ["--vectors", str(tmp_path)]
    assert started == [
        ["benchmarks/gpu_pyramid.py", str(tmp_path)],
        ["benchmarks/stacked.py", "--out", f"{tmp_path}/stacked.jsonl"],
        ["benchmarks/gpu_crossval.py", "--out", f"{tmp_path}/gpu_crossval.jsonl", *vectors],
        ["benchmarks/gpu_results.py", str(tmp_path)],
    ]
    assert (tmp_path / "gpu.csv").exists()


def test_a_gpu_script_that_fails_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(run, "tee", lambda command, log: "stacked" in command[1])
    assert run.main(["gpu", "--out", str(tmp_path)]) == 1
    assert "failed: stacked.py" in capsys.readouterr().err


def test_output_of_a_script_is_shown_and_kept_though_it_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "import sys; print('so far'); sys.exit('and no further')"
    assert run.tee([run.sys.executable, "-c", code], tmp_path / "log") == 1
    assert (tmp_path / "log").read_text() == "so far\nand no further\n"
    assert "so far" in capsys.readouterr().out
