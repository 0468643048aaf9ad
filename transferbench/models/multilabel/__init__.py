"""Models that give a document every label that fits it."""
