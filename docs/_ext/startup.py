"""Startup file of the tutorials' kernels: `%%sh` prints all output of a command at once, in order.

IPython's own prints it in pieces, which the builder would separate by new lines.
"""

import subprocess

from IPython.core.magic import register_cell_magic


@register_cell_magic
def sh(line: str, cell: str) -> None:
    """Run the commands of a cell. Raise CalledProcessError if the last one fails."""
    both = subprocess.STDOUT
    done = subprocess.run(cell, shell=True, stdout=subprocess.PIPE, stderr=both, text=True)
    print(done.stdout, end="")
    done.check_returncode()
