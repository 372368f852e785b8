"""Classify short text with a small model that shows at which phrase scale it decided."""

__version__ = "0.1.0"
