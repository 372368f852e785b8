"""Classify short text with a small model that shows at which phrase scale it decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adasent.estimator import AdaSentClassifier

__version__ = "0.1.0"
__all__ = ["AdaSentClassifier", "__version__"]


def __getattr__(name: str) -> Any:
    # Importing the package must stay fast and work without torch; the estimator needs it.
    if name == "AdaSentClassifier":
        from adasent.errors import require

        for module in ("torch", "sklearn"):
            require(module, "train", name)
        from adasent.estimator import AdaSentClassifier

        return AdaSentClassifier
    raise AttributeError(f"module 'adasent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
