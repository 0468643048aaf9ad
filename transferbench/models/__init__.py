"""Models: a folder for each family, a file with a `fit` function for each model.

Other packages add models by entry points in the group `transferbench.models.<family>`. Each entry
point names a module with a `fit` function. Two kinds of models are used without registration:

package.module:Name   an estimator of another package, see `external`
path/to/file.py       a file with a function `fit`; its family is transfer unless the file has the
                      text FAMILY = "clustering" or FAMILY = "multilabel"

A model can compute on a GPU if its file has the text DEVICES = ("cpu", "cuda"), see `core.device`.

`_registry` finds models and their properties without importing them. `_fit` runs their code.
"""

from transferbench.models._fit import check_fit as check_fit
from transferbench.models._fit import fit as fit
from transferbench.models._fit import load as load
from transferbench.models._registry import FAMILIES as FAMILIES
from transferbench.models._registry import FAMILY as FAMILY
from transferbench.models._registry import FOLDER as FOLDER
from transferbench.models._registry import NONNEGATIVE as NONNEGATIVE
from transferbench.models._registry import ON_GPU as ON_GPU
from transferbench.models._registry import WITH_TOPICS as WITH_TOPICS
from transferbench.models._registry import Model as Model
from transferbench.models._registry import check_device as check_device
from transferbench.models._registry import check_family as check_family
from transferbench.models._registry import code as code
from transferbench.models._registry import get as get
from transferbench.models._registry import is_external as is_external
from transferbench.models._registry import registry as registry
