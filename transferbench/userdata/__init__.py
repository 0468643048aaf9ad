"""The user's own documents: files, problems built from them, predictions."""
