"""Former place of modules that are now in `own`."""
