"""Run the command line: `python -m transferbench`."""

from transferbench.cli import entry

if __name__ == "__main__":
    entry()
