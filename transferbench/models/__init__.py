"""Models: a folder for each family, a file with a `fit` function for each model.

Other packages add models by entry points in the group `transferbench.models.<family>`; each points
to a module with a `fit` function. Two kinds of names are not registered:

package.module:Name   an estimator of another package, see `external`
path/to/file.py       a file with a function `fit`; the text FAMILY = "clustering" or "multilabel"
                      in it names another family than transfer

A model whose file has the text DEVICES = ("cpu", "cuda") can compute on a GPU, see `core.device`.

`_registry` finds models and their properties without importing them; `_fit` runs their code.
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
