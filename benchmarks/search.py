"""Cross-validated choice of MLODM's parameters in the grid of paper 000, one part after another.

The full grid has 13 · 13 · 9 · 9 points. Here C and γ are searched together at a middling θ and μ,
then θ and μ together at the best C and γ, then C and γ once more around their best. Work is shared:
one kernel matrix per fold and γ.
"""

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import label_ranking_loss
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from skml_odm.kernels import Kernel
from skml_odm.losses import PairLoss
from skml_odm.operators import KernelOperator
from skml_odm.solvers.auto import auto

GAMMA = 2.0 ** np.arange(-10, 3)
C = 2.0 ** np.arange(-2, 11)
TENTHS = np.arange(1, 10) / 10
N_FOLDS = 5


def search(X, y, n_jobs=2):
    """Return the chosen parameters (dict) and their cross-validated ranking loss."""
    middling = {"theta": 0.3, "mu": 0.3}
    best, _ = _best(X, y, [{"gamma": g, "C": c, **middling} for g in GAMMA for c in C], n_jobs)
    best, _ = _best(X, y, [{**best, "theta": t, "mu": u} for t in TENTHS for u in TENTHS], n_jobs)
    near = [
        {**best, "gamma": best["gamma"] * g, "C": best["C"] * c}
        for g in (0.5, 1, 2)
        for c in (0.25, 0.5, 1, 2, 4)
        if GAMMA[0] <= best["gamma"] * g <= GAMMA[-1] and C[0] <= best["C"] * c <= C[-1]
    ]
    return _best(X, y, near, n_jobs)


def _best(X, y, candidates, n_jobs):
    losses = cross_validate(X, y, candidates, n_jobs)
    # of equally good candidates the first, which has the smallest C
    winner = int(np.argmin(losses))
    return candidates[winner], losses[winner]


def cross_validate(X, y, candidates, n_jobs=2):
    """The ranking loss of each candidate, averaged over the folds."""
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(X))
    by_gamma: dict = {}
    for index, candidate in enumerate(candidates):
        by_gamma.setdefault(candidate["gamma"], []).append(index)
    tasks = [
        (gamma, indices[part::2], fold)
        for gamma, indices in by_gamma.items()
        for part in range(2)
        for fold in folds
    ]
    losses = Parallel(n_jobs=n_jobs)(
        delayed(_fold_losses)(X, y, gamma, [candidates[i] for i in indices], fold)
        for gamma, indices, fold in tasks
    )
    total = np.zeros(len(candidates))
    for (_, indices, _), values in zip(tasks, losses, strict=True):
        total[indices] += values
    return total / len(folds)


def _fold_losses(X, y, gamma, candidates, fold):
    train, test = fold
    with threadpool_limits(1):
        kernel = Kernel("rbf", gamma, 3, 0.0)
        operator = KernelOperator(kernel.matrix(X[train]), intercept=True)
        between = kernel.between(X[test], X[train])
        losses = []
        for candidate in candidates:
            loss = PairLoss(y[train], candidate["C"], candidate["theta"], candidate["mu"])
            result = auto(operator, loss, tol=1e-3, max_iter=300, random_state=0)
            scores = between @ result.coefficients + result.intercept
            losses.append(label_ranking_loss(y[test], scores))
    return losses
