"""Models as folders on disk: written whole or not at all, read as if a stranger had made them."""
