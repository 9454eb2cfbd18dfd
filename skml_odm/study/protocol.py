"""How rows are divided into training and test parts, and what happens to them before a fit."""

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold
from skmultilearn.model_selection import IterativeStratification

from ..utils.validation import check_bool, check_choice, check_real

KINDS = ("folds", "random", "official")
SCALINGS = ("unit", "standard", "tf-idf", "none")


@dataclass(frozen=True)
class Protocol:
    """Which rows to train on and which to test on.

    Attributes
    ----------
    kind : {"folds", "random", "official"}
        Cross-validation, random splits, or the split that the publishers of the data chose.
    folds : int
        Of "folds": how many.
    repeats : int
        Of "folds" and "random": how often, each time with other rows.
    stratified : bool
        Of "folds": whether every fold gets its share of each label, by the host's
        ``IterativeStratification``.
    test_share : float
        Of "random": share of the rows that are tested on.
    training_rows : int
        Of "random": rows to train on, instead of a share; all others are tested on. 0: the share
        counts.
    scaling : {"unit", "standard", "tf-idf", "none"}
        Features in [0, 1], or with mean 0 and variance 1, on each training part. Sparse features
        are divided by their largest absolute value or their deviation only, so that they stay
        sparse. "tf-idf" is for counts of words: they are weighted by how rare the words are in the
        training part, and rows get length 1.
    candidate_noise : int
        Irrelevant labels that are added to every training row, as for partial-label learning.
    hidden : float
        Share of the training labels that are made unknown, at random.
    labelled_rows_only : bool
        Whether to drop rows without labels.
    fewest_rows : int
        Labels that fewer rows have are dropped.
    fewest_rows_of_features : int
        Features that are other than zero in fewer rows are dropped.
    seed : int
    """

    kind: str = "folds"
    folds: int = 5
    repeats: int = 1
    stratified: bool = True
    test_share: float = 0.2
    training_rows: int = 0
    scaling: str = "unit"
    candidate_noise: int = 0
    hidden: float = 0.0
    labelled_rows_only: bool = False
    fewest_rows: int = 0
    fewest_rows_of_features: int = 0
    seed: int = 0

    def __post_init__(self):
        check_choice("kind", self.kind, KINDS)
        check_choice("scaling", self.scaling, SCALINGS)
        check_real("folds", self.folds, 2, integer=True)
        check_real("repeats", self.repeats, 1, integer=True)
        check_bool("stratified", self.stratified)
        check_real("test_share", self.test_share, 0.0, 1.0, open_low=True, open_high=True)
        check_real("training_rows", self.training_rows, 0, integer=True)
        check_real("candidate_noise", self.candidate_noise, 0, integer=True)
        check_real("hidden", self.hidden, 0.0, 1.0, open_high=True)
        check_bool("labelled_rows_only", self.labelled_rows_only)
        check_real("fewest_rows", self.fewest_rows, 0, integer=True)
        check_real("fewest_rows_of_features", self.fewest_rows_of_features, 0, integer=True)
        check_real("seed", self.seed, 0, 2**31, integer=True)

    def splits(self, data):
        """Training and test rows of every fold.

        Parameters
        ----------
        data : DataSet

        Returns
        -------
        list of pairs of ndarrays
        """
        n_rows = len(data.Y)
        if self.kind == "official":
            if data.split is None:
                raise ValueError(
                    f"data set {data.name!r} has no official split; kind must be 'folds' or "
                    "'random' for it."
                )
            return [data.split]
        if self.kind == "random":
            if self.training_rows >= n_rows:
                raise ValueError(
                    f"training_rows must be less than the number of rows, {n_rows} of "
                    f"{data.name!r}; got {self.training_rows}."
                )
            n_test = n_rows - self.training_rows if self.training_rows else self.test_share * n_rows
            n_test = min(max(round(n_test), 1), n_rows - 1)
            orders = [np.random.RandomState(self.seed + r).permutation(n_rows) for r in self._turns]
            return [(np.sort(order[n_test:]), np.sort(order[:n_test])) for order in orders]
        if self.folds > n_rows:
            raise ValueError(
                f"folds must be at most the number of rows, {n_rows} of {data.name!r}; "
                f"got {self.folds}."
            )
        make = stratified_folds if self.stratified else plain_folds
        return [pair for turn in self._turns for pair in make(data.Y, self.folds, self.seed + turn)]

    @property
    def _turns(self):
        return range(self.repeats)


def plain_folds(Y, n_folds, seed):
    """Random folds."""
    return list(KFold(n_folds, shuffle=True, random_state=seed).split(Y))


def stratified_folds(Y, n_folds, seed):
    """Random folds with about the same share of each label.

    The host's splitter is given shuffled rows instead of shuffling them: it would forget to
    translate the folds back, which makes them random ones.
    """
    generator = np.random.RandomState(seed)
    order = generator.permutation(len(Y))
    splitter = IterativeStratification(n_folds, order=1)
    # of itself it breaks ties with NumPy's global generator
    splitter._rng_state = generator
    shuffled = Y[order].astype(int)
    folds = [order[test] for _, test in splitter.split(np.zeros((len(Y), 1)), shuffled)]
    everything = np.arange(len(Y))
    return [(np.setdiff1d(everything, fold), np.sort(fold)) for fold in folds]
