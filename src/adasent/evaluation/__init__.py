"""How good is a model: scores of predictions, cross-validation, records of runs."""
