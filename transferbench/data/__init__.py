"""Data: fetching, file formats, text, tasks and the datasets they come from."""
