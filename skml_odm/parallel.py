"""Workers of joblib, whatever backend is active."""

import numpy as np
from joblib import Parallel
from joblib.parallel import get_active_backend


def streaming(n_jobs, **options):
    """Workers that hand over results as they come, where the backend can do so.

    Parameters
    ----------
    n_jobs : int or None
    **options
        Of ``joblib.Parallel``.

    Returns
    -------
    Parallel
        Its results come in any order, or as a list when all are there.
    streams : bool
        Which of the two.
    """
    backend, _ = get_active_backend()
    streams = bool(getattr(backend, "supports_return_generator", False))
    return_as = "generator_unordered" if streams else "list"
    return Parallel(n_jobs=n_jobs, return_as=return_as, **options), streams


# Nearly the largest block that glibc learns from.
HINT = 2**25 - 2**16


def keep_freed_memory():
    """Hint at arrays to come, so that the C library keeps memory for them.

    Young processes give freed memory back to the system at once, and the matrices of every task are
    made of new pages. glibc learns from the largest block that was ever freed: afterwards it keeps
    blocks of that size, and twice as much free memory at the end of its heap. Elsewhere, and where
    its limits are set by hand, this does nothing.
    """
    # freed at once, and never touched: no page of it comes to exist
    np.empty(HINT, dtype=np.uint8)
