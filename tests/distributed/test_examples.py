"""The cluster files can be read, name what docs/scale.md says, and have three lines to change."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from adasent.cli.app import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "cluster"


def load(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["ray-cluster.yaml", "ray-job.yaml"])
def test_three_lines_are_to_be_changed(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    marked = [line for line in text.splitlines() if "# CHANGE:" in line]
    assert len(marked) == 3
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert f"examples/cluster/{name}" in page
    for line in marked:
        key = line.split(":")[0].strip()
        assert f"`{key}`" in page, key


def check_command(line: str) -> None:
    """All options of a command are there."""
    program, name, *words = shlex.split(line)
    assert (program, name) == ("adasent", "predict")
    known = {one for p in get_command(app).commands[name].params for one in p.opts}  # type: ignore[attr-defined]
    assert {word for word in words if word.startswith("--")} <= known
    assert words[words.index("--engine") + 1] == "ray"


def test_the_cluster_of_machines() -> None:
    found = load("ray-cluster.yaml")
    types = found["available_node_types"]
    assert found["head_node_type"] in types
    assert types["head"]["resources"]["CPU"] == 0
    assert types["worker"]["max_workers"] == found["max_workers"]
    assert found["setup_commands"] == ['python3 -m pip install "adasent[ray,fast]"']
    text = (FOLDER / "ray-cluster.yaml").read_text(encoding="utf-8")
    check_command(text.split('ray-cluster.yaml "', 1)[1].split('"')[0])


def test_the_job_of_kubernetes() -> None:
    found = load("ray-job.yaml")
    assert (found["apiVersion"], found["kind"]) == ("ray.io/v1", "RayJob")
    spec = found["spec"]
    check_command(spec["entrypoint"])
    cluster = spec["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    images = {
        pod["template"]["spec"]["containers"][0]["image"]
        for pod in (cluster["headGroupSpec"], workers)
    }
    assert len(images) == 1
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    limits = workers["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"cpu": "4", "memory": "8Gi"}
