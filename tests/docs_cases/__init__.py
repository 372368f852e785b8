"""Runs what README and docs show: blocks, inputs of the names they use, what is not run."""
