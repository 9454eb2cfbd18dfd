"""A bar that shows how far a search is."""

from typing import Any


class Progress:
    """Candidates done, the best score so far, and the time left; silent unless ``verbose``.

    Parameters
    ----------
    total : int
        Fits to do.
    verbose : int
    """

    def __init__(self, total, verbose):
        self.bar: Any = None
        if verbose:
            try:
                from tqdm.auto import tqdm
            except ImportError as error:
                raise ImportError(
                    "verbose > 0 shows a progress bar, which needs tqdm: pip install tqdm"
                ) from error
            self.bar = tqdm(total=total, unit="fit", smoothing=0.05)

    def add(self, n_fits, n_candidates, best):
        """Some fits are done."""
        if self.bar is not None:
            self.bar.set_postfix_str(f"{n_candidates} candidates, best {best:.4g}", refresh=False)
            self.bar.update(n_fits)

    def close(self):
        if self.bar is not None:
            self.bar.close()
