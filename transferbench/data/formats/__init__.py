"""Readers of file formats that no common library reads."""
