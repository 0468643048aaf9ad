"""Example plug-in with one model and one dataset."""
