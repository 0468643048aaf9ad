"""Models of multi-task clustering: several related tasks over the same features, no labels."""
