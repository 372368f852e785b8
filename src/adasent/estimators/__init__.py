"""What a user fits, saves and loads: one estimator for each system, and the table of them all."""
