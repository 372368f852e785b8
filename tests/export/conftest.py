"""Models that are exported once for many tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from network_pairs import Pair

if TYPE_CHECKING:
    from onnx_cases import Exported


@pytest.fixture(scope="session")
def make_exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Exported]:
    """A random network of some settings, saved and exported."""
    from onnx_cases import Exported  # which other tests of this folder do not need

    def make(how: dict[str, Any] | None = None, **settings: Any) -> Exported:
        folder = tmp_path_factory.mktemp("exported") / "model"
        return Exported(Pair(**settings).save(folder), folder.with_name("small.onnx"), **how or {})

    return make


@pytest.fixture(scope="session")
def exported(make_exported: Callable[..., Exported]) -> Exported:
    """One of the usual settings, with what makes ids of texts."""
    return make_exported({"texts": True}, hidden_size=6, gate_groups=2)
