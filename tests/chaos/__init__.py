"""Scenarios that break things on purpose and check that nothing is lost: `make chaos`."""
