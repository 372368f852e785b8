"""From texts to vectors of their words: what a network stands on."""
