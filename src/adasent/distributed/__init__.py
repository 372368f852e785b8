"""Beyond one machine: bulk work and runs of folds on a Ray cluster."""
