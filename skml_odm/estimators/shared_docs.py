"""What the docstrings of several estimators have in common: a part after each name in brackets."""

import re
from functools import partial

from ..utils.docs import documented

TEXT = """
[kernel]
kernel : str or callable, default=...
    "linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed", or a function
    of two matrices that returns the kernel values between their rows. A matrix that is not
    positive semidefinite is replaced by its positive part, with a warning.
gamma : {"scale", "auto"} or float, default=...
    Coefficient of "rbf", "poly", "sigmoid" and "laplacian": 1 / (n_features · X.var()),
    1 / n_features, or the number. Search ⅛, ½ and 2 times "scale".
degree : float, default=...
    Degree of "poly".
coef0 : float, default=...
    Constant term of "poly" and "sigmoid".
[C]
C : float, default=...
    Weight of the loss against the regulariser; positive. Search this first, with ``gamma``: 1, 4,
    16 and 64 for features in [0, 1].
[theta]
theta : float, default=...
    Half-width θ of the interval of margins that cost nothing, in [0, 1].
mu : float, default=...
    Weight μ of margins above the interval, in [0, 1]; 0 leaves a one-sided squared hinge
    loss.
[fit_intercept]
fit_intercept : bool, default=...
    Whether labels have an intercept. It is regularised: the kernel is in effect K + 1.
[threshold]
threshold : {"regression", "per-label", "zero", "calibrated"} or float, default=...
    What to subtract from scores: a linear function of the row's scores fitted to the cuts
    of smallest Hamming loss, a number per label that misclassifies the fewest training
    rows, 0, or the number. "calibrated" learns probabilities from scores of rows that the
    model has not seen, and a cut of them; ``predict_proba`` returns them. A fit then takes
    two to three times as long.
[zero_label]
zero_label : "auto", True or False, default=...
    Whether to learn one more label, 0, that stands between the relevant and the irrelevant
    labels of every row. Rows without any label, or with all labels, then take part in learning,
    and ``label_scores`` are scores minus that of label 0: positive for labels that belong to a
    row. "auto" learns one where there are such rows and ``solver`` can.
[zero_label_]
zero_label_ : bool
    Whether a zero label was learned.
[tol]
tol : float, default=...
    Relative duality gap to reach.
[max_epochs]
max_iter : int, default=...
    Epochs and Newton steps at most; a ``ConvergenceWarning`` says when they do not suffice.
[random_state]
random_state : int, RandomState instance or None, default=...
    Order in which rows are visited. None is a fixed order: two fits with the same arguments
    give the same model.
[verbose]
verbose : int, default=...
    Print a line with the gap for each iteration if positive.
[cache_size]
cache_size : float, default=...
    Megabytes that the kernel matrix may take (8 m² bytes: 16 000 rows by default). A larger
    one is computed anew, a few rows at a time, whenever it is needed.
[last_parameters]
{random_state}
{verbose}
{cache_size}
[model]
dual_coef_ : ndarray of shape (n_samples, n_labels)
    Coefficients A of the training rows; scores are K(x, X) A + b.
intercept_ : ndarray of shape (n_labels,)
    b; zero without intercept.
{coef_}
[coef_]
coef_ : ndarray of shape (n_labels, n_features)
    Weights w; only with ``kernel="linear"``.
{X_fit_}
[X_fit_]
X_fit_ : ndarray or CSR matrix
    The training rows; not with a linear or precomputed kernel.
[certificate]
objective_ : float
    Value of the objective.
dual_gap_ : float
    Relative duality gap, computed from the final coefficients: the optimum is at least
    ``objective_ * (1 - dual_gap_)``.
[n_iter_]
n_iter_ : int
    Iterations done.
[n_support_]
n_support_ : int
    Training rows with a coefficient other than zero.
[threshold_]
threshold_ : object
    The fitted threshold; ``threshold_.decide(scores)`` is ``decision_function``.
[labels]
classes_ : ndarray
    Label numbers, or the class values of a one-dimensional y.
n_labels_ : int
{label_names_}
{features}
[label_names_]
label_names_ : ndarray of shape (n_labels,)
    Only if y is a DataFrame with string column names.
[features]
n_features_in_ : int
feature_names_in_ : ndarray of shape (n_features,)
    Only if X has string column names.
[fitted]
{n_iter_}
{n_support_}
{threshold_}
{labels}
[example]
>>> from skml_odm import {class_name}
>>> from skml_odm.datasets import load_digit_attributes
>>> X, y = load_digit_attributes(return_X_y=True)
>>> model = {class_name}(C=10.0, random_state=0).fit(X[:500], y[:500])
>>> model.predict(X[500:502]).shape
(2, 7)
>>> bool(model.dual_gap_ <= 1e-3)
True
[no_pairs]
A row without a relevant or without an irrelevant label has no label pair: it takes no part
in learning scores, but does in fitting thresholds.
[zero_label_pairs]
With a zero label, the pairs (k, 0) of the relevant and (0, l) of the irrelevant labels have the
loss of the other pairs, with the weights C / 2|Y_i| and C / 2|N_i|, and the model has the
differences to label 0. Without one, a row without a relevant or without an irrelevant label has
no label pair: it takes no part in learning scores, but does in fitting thresholds.
"""

_, *PARTS = re.split(r"^\[(\w+)\]\n", TEXT, flags=re.MULTILINE)
estimator_docs = partial(documented, **dict(zip(PARTS[::2], PARTS[1::2], strict=True)))
