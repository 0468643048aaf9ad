"""Runs, their records, and the engines that perform them."""
