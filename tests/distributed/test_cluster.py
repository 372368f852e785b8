"""Joining, starting and leaving a Ray cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from adasent.distributed.cluster import connected
from adasent.errors import ConfigError, MissingDependencyError


def test_missing_ray_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[ray\]'"),
        connected(),
    ):
        pass


def test_a_cluster_that_is_there_is_used_and_left(ray_cluster: Any) -> None:
    with connected() as ray:
        assert ray.get_runtime_context().gcs_address == ray_cluster.address
    with connected(ray_cluster.address):
        pass
    assert ray.is_initialized()


def test_another_address_than_the_present_one_is_refused(ray_cluster: Any) -> None:
    with pytest.raises(ConfigError, match=r"connected to the Ray cluster at"), connected("far:1"):
        pass


_STARTS = """
import warnings; warnings.simplefilter("error")
from adasent.distributed.cluster import connected
from adasent.errors import ConfigError
import os
for name in ("RAY_ADDRESS",): os.environ.pop(name, None)
with connected(n_cpus=3, store=80 * 2**20) as ray:
    resources = ray.cluster_resources()
    print(int(resources["CPU"]), os.environ.get("RAY_USAGE_STATS_ENABLED"))
print(ray.is_initialized())
"""


def test_a_cluster_of_its_own_is_started_and_stopped(ray_cluster: Any) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "RAY_USAGE_STATS_ENABLED"}
    done = subprocess.run(
        [sys.executable, "-c", _STARTS], capture_output=True, text=True, env=environment
    )
    assert done.stdout.split() == ["3", "None", "False"], done.stderr
    assert done.stderr == ""
