"""Topics of a model with feature clusters, see `own.topics`."""

from transferbench.own.topics import Topic, Topics, topics_of

__all__ = ["Topic", "Topics", "topics_of"]
