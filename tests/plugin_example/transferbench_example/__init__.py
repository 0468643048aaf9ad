"""An example of a plug-in: one model, one dataset."""
