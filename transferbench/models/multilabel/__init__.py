"""Models that find the set of labels of each document."""
