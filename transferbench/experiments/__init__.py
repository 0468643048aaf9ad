"""Experiment files: YAML to planned runs and published values."""
