"""Topics: of documents without labels, see `own.corpus`, and of a model, see `own.topics`."""

from transferbench.own.corpus import (
    CorpusTopic,
    CorpusTopics,
    Difference,
    NumberOfTopics,
    compare_numbers,
    find_topics,
)
from transferbench.own.topics import Topic, Topics, topics_of

__all__ = [
    "CorpusTopic",
    "CorpusTopics",
    "Difference",
    "NumberOfTopics",
    "Topic",
    "Topics",
    "compare_numbers",
    "find_topics",
    "topics_of",
]
