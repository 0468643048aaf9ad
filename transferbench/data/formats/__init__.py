"""Readers of file formats, with bounds and errors of one line."""
