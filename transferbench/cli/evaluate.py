"""transferbench evaluate, another name of compare."""

from transferbench.cli.compare import command as command
