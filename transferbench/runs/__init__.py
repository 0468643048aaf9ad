"""Runs: what is to be done, what was found, and the engines that do it."""
