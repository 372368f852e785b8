"""A real Ray cluster of several raylets on this machine, one in each worker of pytest."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

#: What Ray itself does that Python warns of: nothing of ours is among it.
RAYS_OWN = [
    r"ignore::DeprecationWarning:ray\.data\.context",  # it sets its own settings of old
    r"ignore:Tip. In future versions of Ray:FutureWarning",
    r"ignore:subprocess \d+ is still running:ResourceWarning",
    r"ignore:unclosed file.*/session_:ResourceWarning",
]
#: Containers of CI have a /dev/shm of 64 MB; Ray takes its files elsewhere if this does not fit.
STORE = 80 * 2**20


@dataclass
class RayCluster:
    """A cluster that tests may add nodes to, and kill them."""

    cluster: Any
    address: str

    def add_node(self, n_cpus: int = 1, **resources: float) -> Any:
        """A raylet more, with resources of the given names so that work can be sent there."""
        return self.cluster.add_node(
            num_cpus=n_cpus, object_store_memory=STORE, resources=resources or None
        )

    def workers(self, name: str) -> list[psutil.Process]:
        """Processes of this cluster, and of no other on the machine, whose titles hold a name."""
        raylets = [
            psutil.Process(one.process.pid)
            for node in self.cluster.list_all_nodes()
            for one in node.all_processes["raylet"]
        ]
        found = [one for raylet in raylets for one in raylet.children(recursive=True)]
        return [one for one in found if name in one.name()]

    def kill_node(self, node: Any) -> None:
        """End all processes of a raylet at once, as a machine that is switched off."""
        self.cluster.remove_node(node, allow_graceful=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What Ray warns of fails no test that has a cluster."""
    for item in items:
        if "ray_cluster" in getattr(item, "fixturenames", ()):
            for one in RAYS_OWN:
                item.add_marker(pytest.mark.filterwarnings(one))


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[RayCluster]:
    """A head without work and two raylets of one core each; this process is connected to it."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    ours = {
        "RAY_AUTH_MODE": "disabled",  # else Ray writes a token into the home of who runs the tests
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_health_check_period_ms": "500",  # a killed node is noticed within a second or two
        "RAY_health_check_failure_threshold": "2",
        "RAY_health_check_initial_delay_ms": "500",
        "OMP_NUM_THREADS": "1",
    }
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "object_store_memory": STORE,
                "include_dashboard": False,
            },
        )
        for _ in range(2):
            cluster.add_node(wait=False, num_cpus=1, object_store_memory=STORE)
        cluster.wait_for_nodes()
        ray.init(cluster.address, logging_level="ERROR", log_to_driver=False)
    yield RayCluster(cluster, cluster.address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.shutdown()
        cluster.shutdown()
        gc.collect()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
