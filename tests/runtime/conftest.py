"""The same random network in torch and in numpy."""

from network_pairs import backend, folder, make_pair

__all__ = ["backend", "folder", "make_pair"]
