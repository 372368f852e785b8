"""Word vectors: read from files, trained, distilled from a larger model, aligned to words."""
