"""Multi-task clustering: no labels at all, several related tasks over the same features."""
