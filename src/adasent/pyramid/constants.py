"""Numbers that every implementation of the pyramid shares; needs nothing."""

#: Where relu ends. Without an end, units of a trained network may grow by a factor a level and
#: overflow on texts of a few hundred words.
RELU_CAP = 1e4
