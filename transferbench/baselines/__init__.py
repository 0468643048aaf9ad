"""What one would use today: models and tasks on well-kept libraries, of the extra `modern`.

They are a plug-in: pyproject.toml names them as entry points, as another package would, and
nothing else in this one knows of them. Names and parameters are there without the extra.
"""
