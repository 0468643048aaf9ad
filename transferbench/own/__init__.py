"""A person's own documents: read, compare, predict, topics, page, estimators."""
