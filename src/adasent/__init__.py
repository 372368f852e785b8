"""Classify short text with a small model that shows at which phrase scale it decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adasent.version import __version__

if TYPE_CHECKING:
    from adasent.estimators.adasent import AdaSentClassifier
    from adasent.estimators.predictor import Predictor
    from adasent.estimators.registry import load

__all__ = ["AdaSentClassifier", "Predictor", "__version__", "load"]


def __getattr__(name: str) -> Any:
    # Importing the package must stay fast; prediction needs numpy alone, the estimator torch.
    if name == "Predictor":
        from adasent.estimators.predictor import Predictor

        return Predictor
    if name == "load":
        from adasent.estimators.registry import load

        return load
    if name == "AdaSentClassifier":
        from adasent.errors import require

        for module in ("torch", "sklearn"):
            require(module, "train", name)
        from adasent.estimators.adasent import AdaSentClassifier

        return AdaSentClassifier
    raise AttributeError(f"module 'adasent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
