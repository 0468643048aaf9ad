"""Models: a folder for each family, a file with a `fit` function for each model.

Other packages add models by entry points in the group `transferbench.models.<family>`. Each entry
point names a module with a `fit` function. Two kinds of models are used without registration:

package.module:Name   an estimator of another package, see `external`
path/to/file.py       a file with a function `fit`; its family is transfer unless the file has the
                      text FAMILY = "clustering" or FAMILY = "multilabel"

A model can compute on a GPU if its file has the text DEVICES = ("cpu", "cuda"), see `core.device`.

`_registry` finds models and their properties without importing them. `_fit` runs their code.
"""

from transferbench.models._fit import check_fit, fit, load
from transferbench.models._registry import (
    FAMILIES,
    FAMILY,
    FOLDER,
    NONNEGATIVE,
    ON_GPU,
    WITH_TOPICS,
    Model,
    check_device,
    check_family,
    code,
    get,
    is_external,
    registry,
)

__all__ = [
    "FAMILIES",
    "FAMILY",
    "FOLDER",
    "NONNEGATIVE",
    "ON_GPU",
    "WITH_TOPICS",
    "Model",
    "check_device",
    "check_family",
    "check_fit",
    "code",
    "fit",
    "get",
    "is_external",
    "load",
    "registry",
]
