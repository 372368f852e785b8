"""The paper's tables and figures: specified as data, run into records, rendered from records."""
