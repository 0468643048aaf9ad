"""Runs, their records, and the processes that perform them."""
