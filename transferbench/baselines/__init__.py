"""Current methods from other libraries, as models and tasks; they need the extra `modern`.

They are a plug-in: pyproject.toml declares them as entry points, as another package would, and the
rest of transferbench does not import them. Names and parameters are available without the extra.
"""

from transferbench.messages import need as need
