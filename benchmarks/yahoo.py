"""The yahoo sets as paper 002 prepares them."""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from .data import Split, load_raw

REDUCED = (
    "arts",
    "computers",
    "education",
    "entertainment",
    "health",
    "recreation",
    "reference",
    "science",
    "social",
    "society",
)
FULL = ("full-arts", "full-reference")
TRAINING_ROWS = 800
FEWEST_ROWS_OF_A_LABEL = 200
FEWEST_ROWS_OF_A_FEATURE = 5


def prepare(name):
    """Without the largest label, rare labels and features, and unlabelled rows; tf-idf."""
    X, Y, *_ = load_raw(f"yahoo-{name}")
    X = sparse.csr_matrix(X)
    sizes = Y.sum(axis=0)
    kept = sizes >= FEWEST_ROWS_OF_A_LABEL
    kept[sizes.argmax()] = False
    Y = Y[:, kept]
    rows = Y.any(axis=1) & ~Y.all(axis=1)
    X, Y = X[rows], Y[rows]
    X = X[:, X.getnnz(axis=0) >= FEWEST_ROWS_OF_A_FEATURE]
    return TfidfTransformer().fit_transform(X), Y


def split(X, Y, seed):
    """800 random rows for training, the others for test."""
    order = np.random.RandomState(seed).permutation(len(Y))
    train, test = order[:TRAINING_ROWS], order[TRAINING_ROWS:]
    return Split(X[train], Y[train], X[test], Y[test])
