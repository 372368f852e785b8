"""The one place that states the version; the package metadata is made from it."""

__version__ = "0.1.0"
