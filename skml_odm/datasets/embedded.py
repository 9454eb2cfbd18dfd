"""Sets at hand everywhere: the handwritten digits of scikit-learn, and random documents."""

import numpy as np
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.utils import Bunch

from .dataset import DataSet
from .parts import Numbered

# Half of the labels follow from how a digit is drawn, half only from the number it stands for.
ATTRIBUTES = {
    "even": {0, 2, 4, 6, 8},
    "prime": {2, 3, 5, 7},
    "multiple of three": {0, 3, 6, 9},
    "square number": {0, 1, 4, 9},
    "greater than four": {5, 6, 7, 8, 9},
    # many hands draw a four open at the top
    "closed loop": {0, 6, 8, 9},
    "straight strokes": {1, 4, 7},
}

DESCRIPTION = """\
Attributes of handwritten digits: 1797 rows, 64 features, 7 labels.

The features are the grey values of scikit-learn's 8 x 8 digits, divided by 16 to lie in [0, 1].
The labels are attributes of the digit that was written. Every digit has two to four of them, no
two digits have the same, and so each row has a label and the labels depend on each other:

    even               0 2 4 6 8
    prime              2 3 5 7
    multiple of three  0 3 6 9
    square number      0 1 4 9
    greater than four  5 6 7 8 9
    closed loop        0 6 8 9     (a four is left out: many hands draw it open)
    straight strokes   1 4 7       (the printed shapes need no curve)

The digits are the test part of the UCI set "Optical Recognition of Handwritten Digits" (E. Alpaydin
and C. Kaynak, 1998), as installed with scikit-learn.
"""


def load_digit_attributes(*, return_X_y=False):
    """Load handwritten digits labelled with the attributes of the number they show.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` only.

    Returns
    -------
    Bunch
        With ``data``, floats in [0, 1] of shape (1797, 64); ``target``, zeros and ones of shape
        (1797, 7); ``feature_names``; ``target_names``; and ``DESCR``, which says which digit has
        which labels. Or a pair of arrays if ``return_X_y``.

    Examples
    --------
    >>> digits = load_digit_attributes()
    >>> digits.data.shape, digits.target.shape
    ((1797, 64), (1797, 7))
    """
    digits = load_digits()
    data = digits.data / 16.0
    target = np.column_stack([np.isin(digits.target, sorted(a)) for a in ATTRIBUTES.values()])
    target = target.astype(np.int64)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=list(digits.feature_names),
        target_names=list(ATTRIBUTES),
        DESCR=DESCRIPTION,
    )


def digits_data():
    """The digits as a :class:`DataSet`."""
    digits = load_digit_attributes()
    return DataSet(
        name="digits",
        X=digits.data,
        Y=digits.target == 1,
        label_names=tuple(digits.target_names),
        feature_names=tuple(digits.feature_names),
    )


def synthetic_data(random_state=0):
    """Random documents with about three of eight topics, word counts scaled to [0, 1]."""
    X, Y = make_multilabel_classification(
        n_samples=1000,
        n_features=50,
        n_classes=8,
        n_labels=3,
        allow_unlabeled=False,
        random_state=random_state,
    )
    return DataSet(
        name="synthetic",
        X=X / X.max(),
        Y=Y == 1,
        label_names=Numbered("label", Y.shape[1]),
        feature_names=Numbered("feature", X.shape[1]),
    )


# what makes each set, and the options it has
EMBEDDED = {"digits": (digits_data, ()), "synthetic": (synthetic_data, ("random_state",))}
