"""Benchmarks for asv, see `make bench`. A class measures once, in `setup_cache`."""
