"""The user's documents: files, problems built from them, predictions."""
