"""Multi-label models: a document may have several labels."""
