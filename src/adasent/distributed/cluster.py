"""A Ray cluster for as long as a command needs one: joined by its address, or started here."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adasent.errors import AdaSentError, ConfigError, require, setting

#: Bytes that a Ray started here shares between its processes: weights, and rows on their way. Ray
#: itself would set a third of the machine's memory aside. What does not fit, it keeps on disk.
STORE = 512 * 2**20
#: Our own switches of Ray, for the processes that it starts here: it tells nobody that it is used,
#: and leaves the variables alone that say which GPUs a process sees.
_SWITCHES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@contextmanager
def connected(
    address: str | None = None, *, n_cpus: int | None = None, store: int = STORE
) -> Iterator[Any]:
    """Within, this process is connected to a Ray cluster; yields the module ``ray``.

    One that the process is connected to already is used and left as it is. What was started or
    joined here is stopped or left at the end.

    Parameters
    ----------
    address
        Of a cluster that is there: ``auto``, ``host:6379`` or ``ray://host:10001``. None: the one
        that ``RAY_ADDRESS`` names, as it does within a job of Ray; else one is started on this
        machine.
    n_cpus
        Tasks of one core each that a cluster started here runs at once; None is one a core.
    store
        Bytes of shared memory of a cluster started here.
    """
    ray = require("ray", "ray", "the engine ray")
    if ray.is_initialized():
        _check_same(ray, address)
        yield ray
        return
    address = address or os.environ.get("RAY_ADDRESS") or None
    # What Ray has to say while it starts is for those who run clusters.
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        with _switched(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            if address is None:
                ray.init(
                    "local",
                    num_cpus=n_cpus,
                    include_dashboard=False,
                    object_store_memory=store,
                    **quiet,
                )
            else:
                ray.init(address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        ray.shutdown()
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if address is None:
            raise AdaSentError(f"Ray did not start on this machine: {reason}") from error
        raise ConfigError(
            f"{setting('address', address)}: no Ray cluster to join there ({reason}); start one "
            "with ray start --head, or leave the address out to start one here"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_same(ray: Any, address: str | None) -> None:
    """Refuse another address than that of the cluster that this process is connected to."""
    if address in (None, "auto", "local"):
        return
    here = ray.get_runtime_context().gcs_address
    if address != here and not str(address).startswith("ray://"):
        raise ConfigError(
            f"{setting('address', address)}: this process is connected to the Ray cluster at "
            f"{here} already; call ray.shutdown() first, or leave the address out"
        )


@contextmanager
def _switched() -> Iterator[None]:
    """Environment for what is started within; what the user has set stays."""
    ours = {name: value for name, value in _SWITCHES.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
