"""Data sets that scikit-multilearn downloads, or has downloaded before."""

import contextlib
import io

import numpy as np
from scipy import sparse

from .files import file_error
from .parts import Part

PREFIX = "host:"
VARIANTS = ("train", "test", "undivided")


def read_host(sources):
    """Load sets such as ``host:emotions`` or ``host:emotions-train``.

    Returns
    -------
    list of Part
    """
    return [_read_part(source) for source in sources]


def _read_part(source):
    from skmultilearn.dataset import load_dataset

    name, _, variant = source.removeprefix(PREFIX).rpartition("-")
    if variant not in VARIANTS:
        name, variant = source.removeprefix(PREFIX), "undivided"
    try:
        # the host reports downloads with print
        with contextlib.redirect_stdout(io.StringIO()):
            X, Y, features, labels = load_dataset(name, variant)
    except OSError as error:
        what = (
            f"scikit-multilearn cannot download it ({type(error).__name__}); "
            "a connection to scikit.ml is needed"
        )
        raise file_error(source, what) from None
    except Exception as error:  # the host raises plain ones, for a bad checksum too
        raise file_error(source, f"scikit-multilearn cannot load it: {error}") from None
    Y = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
    if not np.isin(Y, (0, 1)).all():
        raise file_error(source, "has labels other than 0 and 1")
    X = sparse.csr_matrix(X, dtype=np.float64)
    return Part(source, X, Y == 1, _names(labels), _names(features))


def _names(attributes):
    """Names of attributes, which the host gives together with their types."""
    return tuple(str(name) for name, _ in attributes)
