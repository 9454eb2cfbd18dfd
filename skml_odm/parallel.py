"""Workers of joblib, whatever backend is active."""

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
