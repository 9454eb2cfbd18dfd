"""PARTICLE: partial multi-label learning from credible labels (compared with in paper 001)."""

from functools import partial
from itertools import combinations
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from ..utils.types import Matrix, NDArray, Self
from ..utils.validation import COUNT, POSITIVE, SHARE, check_real, forget, known_rows, one_of
from .base import LabelRanker
from .propagation import credible_labels, nearest_rows, propagate, reconstruction_weights
from .shared_docs import estimator_docs

# Weighted votes are sums in any order: what differs by less is a tie.
VOTE_DECIMALS = 10


@estimator_docs()
class Particle(LabelRanker):
    """Partial multi-label learning via credible label elicitation (PARTICLE).

    Every row has *candidate* labels, of which only some are right. First, confidences are
    propagated from row to row along a graph of nearest neighbours, and candidates with a high
    confidence in the neighbourhood are taken as *credible*. Then a linear support vector machine
    for each pair of labels learns to tell rows where one label is credible and the other is no
    candidate; candidates that are not credible take no part. The machines vote.

    Parameters
    ----------
    variant : {"vls", "map"}, default=...
        How votes become labels. "vls", virtual label splitting: a further label stands between
        relevant and irrelevant ones, a machine per label votes for the label or for it, and labels
        with more votes are relevant. "map", maximum a posteriori: a label is relevant if that is
        more likely than not for its number of votes, by counts on the training rows.
    C : float, default=...
        Weight of the loss of the support vector machines; positive.
    n_neighbors : int, default=...
        Neighbours of a row.
    alpha : float, default=...
        What a row's confidences owe to its neighbours; the rest comes from its candidates. In
        [0, 1).
    credibility : float, default=...
        How close to the best label of the row a credible label has to be; in [0, 1]. All candidates
        are credible with 0.
    max_iter : int, default=...
        Steps of each support vector machine at most; a ``ConvergenceWarning`` says when they do not
        suffice.

    Attributes
    ----------
    confidence_ : ndarray of shape (n_samples, n_labels)
        Confidences of the candidates of the training rows; rows sum to one.
    credible_ : ndarray of shape (n_samples, n_labels), bool
        The credible labels, all of them candidates.
    pairs_ : ndarray of shape (n_machines, 2)
        The labels that each machine tells apart; ``n_labels`` is the virtual one.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the machines. Zero where only one of the two labels, or none, has a training row.
    intercept_ : ndarray of shape (n_machines,)
    vote_weight_ : ndarray of shape (n_machines,)
        Weight of each vote: the accuracy on the machine's training rows ("vls") or one ("map"); 0
        without training rows.
    prior_ : ndarray of shape (n_labels,)
        Probability of each label ("map" only).
    likelihood_ : ndarray of shape (2, n_labels, n_votes)
        Probability of each number of votes for an irrelevant and for a relevant label ("map" only).
    n_iter_ : int
        Steps of the machine that took most.
    {labels}

    Notes
    -----
    There are q(q+1)/2 machines for q labels: not a method for hundreds of labels. Features should
    have a common range.

    References
    ----------
    J.-P. Fang, M.-L. Zhang: Partial multi-label learning via credible label elicitation.
    AAAI 33, 3518-3525, 2019.

    M.-L. Zhang, J.-P. Fang: Partial multi-label learning via credible label elicitation.
    IEEE Transactions on Pattern Analysis and Machine Intelligence 43, 3587-3599, 2021.

    Examples
    --------
    >>> from skml_odm import Particle
    >>> from skml_odm.datasets import add_candidate_noise, load_digit_attributes
    >>> X, y = load_digit_attributes(return_X_y=True)
    >>> candidates = add_candidate_noise(y[:200], 1, random_state=0)
    >>> model = Particle(variant="map").fit(X[:200], candidates)
    >>> model.predict(X[200:202]).shape
    (2, 7)
    >>> bool((model.credible_ <= (candidates == 1)).all())
    True
    """

    takes_unknown = True
    checks: ClassVar = {
        "variant": one_of("vls", "map"),
        "C": POSITIVE,
        "n_neighbors": COUNT,
        "alpha": partial(check_real, low=0, high=1, open_high=True),
        "credibility": SHARE,
        "max_iter": partial(check_real, low=1, high=2**31 - 1, integer=True),
    }

    def __init__(
        self,
        variant="vls",
        C=1.0,
        n_neighbors=10,
        alpha=0.95,
        credibility=0.9,
        max_iter=100_000,
    ):
        self.variant = variant
        self.C = C
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.credibility = credibility
        self.max_iter = max_iter

    def fit(self, X: Matrix, y: Matrix) -> Self:
        """Learn from rows X and their candidate labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Ones for candidates, zeros for labels that are certainly irrelevant, NaN for labels of
            which nothing is known: they are neither. A one-dimensional y with two classes is a
            single label.

        Returns
        -------
        self
        """
        forget(self)
        self._validate_params()
        X, target = self._validated_pair(X, y)
        used = known_rows(target)
        X, candidates = X[used], target.indicator[used]
        known = np.True_ if target.known is None else target.known[used]
        neighbours, distances = nearest_rows(X, self.n_neighbors)
        graph = reconstruction_weights(X, neighbours)
        confidence = propagate(graph, candidates, self.alpha)
        credible = credible_labels(confidence, candidates, neighbours, distances, self.credibility)
        self.confidence_ = np.zeros(target.indicator.shape)
        self.credible_ = np.zeros(target.indicator.shape, dtype=bool)
        self.confidence_[used], self.credible_[used] = confidence, credible
        self._remember(target)
        self._fit_machines(X, credible, ~candidates & known)
        if self.variant == "map":
            self._fit_posterior(X, candidates, credible, known, neighbours)
        return self

    def label_scores(self, X: Matrix) -> NDArray[np.float64]:
        """Scores of all labels: the larger, the more relevant.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Weighted votes ("vls"), or the logarithm of how much more likely relevant than
            irrelevant a label is ("map").
        """
        check_is_fitted(self)
        votes = self._votes(self._validated(X, reset=False))
        return self._log_odds(votes) if hasattr(self, "prior_") else votes[:, :-1]

    def _decision(self, X):
        check_is_fitted(self)
        votes = self._votes(self._validated(X, reset=False))
        if hasattr(self, "prior_"):
            return self._log_odds(votes)
        return np.round(votes[:, :-1] - votes[:, -1:], VOTE_DECIMALS)

    def _fit_machines(self, X, credible, irrelevant):
        q = self.n_labels_
        pairs = list(combinations(range(q), 2))
        if self.variant == "vls" or q == 1:  # one label alone can only be told from the virtual one
            pairs += [(label, q) for label in range(q)]
        self.pairs_ = np.array(pairs, dtype=np.intp)
        self.coef_ = np.zeros((len(pairs), X.shape[1]))
        self.intercept_ = np.zeros(len(pairs))
        self.vote_weight_ = np.zeros(len(pairs))
        self.n_iter_ = 1
        for number, (first, second) in enumerate(pairs):
            if second == q:
                for_first, for_second = credible[:, first], irrelevant[:, first]
            else:
                for_first = credible[:, first] & irrelevant[:, second]
                for_second = credible[:, second] & irrelevant[:, first]
            rows = np.flatnonzero(for_first | for_second)
            self._fit_machine(number, X[rows], for_first[rows])

    def _fit_machine(self, number, X, is_first):
        if len(is_first) == 0:
            return
        if is_first.all() or not is_first.any():
            # nothing to tell apart: always vote for the only label seen
            self.intercept_[number] = 1.0 if is_first[0] else -1.0
            self.vote_weight_[number] = 1.0
            return
        machine = SVC(C=self.C, kernel="linear", max_iter=self.max_iter).fit(X, is_first)
        weights = machine.coef_.toarray() if sparse.issparse(machine.coef_) else machine.coef_
        self.coef_[number] = weights[0]
        self.intercept_[number] = machine.intercept_[0]
        self.n_iter_ = max(self.n_iter_, int(machine.n_iter_.max()))
        right = (X @ weights[0] + machine.intercept_[0] > 0) == is_first
        self.vote_weight_[number] = right.mean() if self.variant == "vls" else 1.0

    def _votes(self, X):
        """Weighted votes for all labels and, in the last column, for the virtual one."""
        for_first = X @ self.coef_.T + self.intercept_ > 0
        first, second = (
            np.eye(self.n_labels_ + 1)[labels] * self.vote_weight_[:, None]
            for labels in self.pairs_.T
        )
        return np.round(for_first @ first + ~for_first @ second, VOTE_DECIMALS)

    def _fit_posterior(self, X, candidates, credible, known, neighbours):
        """Priors and likelihoods of vote counts, each with one more row of every kind."""
        m, q = candidates.shape
        known = np.broadcast_to(known, (m, q))
        near, n_near = (
            (each[neighbours] if neighbours.shape[1] else each[:, None]).sum(axis=1)
            for each in (candidates, known)
        )
        frequent = 2 * near >= np.maximum(n_near, 1)
        self.prior_ = (1.0 + frequent.sum(axis=0)) / (2.0 + m)
        votes = self._votes(X).astype(np.intp)
        counts = np.ones((2, q, max(q, 2)))
        for relevant, rows in enumerate((~candidates & known, credible)):
            for label in range(q):
                np.add.at(counts[relevant, label], votes[rows[:, label], label], 1.0)
        self.likelihood_ = counts / counts.sum(axis=2, keepdims=True)

    def _log_odds(self, votes):
        labels = np.arange(self.n_labels_)
        irrelevant, relevant = np.log(self.likelihood_)[:, labels, votes[:, :-1].astype(np.intp)]
        return np.log(self.prior_) - np.log1p(-self.prior_) + relevant - irrelevant
