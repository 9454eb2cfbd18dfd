"""What fits on the same rows can have in common.

An estimator asks its ``_sharing`` for everything that another fit may have computed already. A
single fit is :data:`ALONE` and computes it all; a search lends its estimators a sharing of its own
(:mod:`skml_odm.search.shared_fold`).
"""

from ..features.kernels import make_kernel
from ..problems.pairs import PairLoss
from ..solvers.multiclass_newton import newton
from ..solvers.turns import minimise


class Alone:
    """Nothing in common: every fit does all of its work."""

    def validated_pair(self, estimator, X, y):
        """Training rows and their target."""
        return estimator._validated_pair(X, y)

    def kernel(self, estimator, X, sample_weight):
        """The kernel, its parameters fixed for the training rows."""
        return make_kernel(
            estimator.kernel, estimator.gamma, estimator.degree, estimator.coef0, X, sample_weight
        )

    def operator(self, estimator, X):
        """K of the training rows, and eigenvectors if it was indefinite."""
        return estimator._operator(X)

    def lean_operator(self, estimator, X, n_labels):
        """K of the training rows for problems with many labels, or None."""
        return estimator._lean_operator(X, n_labels)

    def matrix(self, kernel, X):
        """The kernel matrix of the training rows."""
        return kernel.matrix(X)

    def kept(self, X):
        """The training rows, for a model to keep."""
        return X.copy()

    def values_between(self, estimator, X):
        """Kernel values between new rows and the training rows, if they are known."""
        return None

    def loss(self, indicator, C, theta, mu, sample_weight):
        """The loss over label pairs."""
        return PairLoss(indicator, C, theta, mu, sample_weight)

    def minimise(self, solver, operator, loss, **options):
        """Solve a problem with pair losses."""
        return minimise(solver, operator, loss, **options)

    def minimise_classes(self, estimator, rows, blocks, **options):
        """Solve a problem of classes by Newton's method."""
        return newton(rows, blocks, **options)

    def begun(self, operator, problem):
        """A problem that a solver changes, begun where another has ended if that is known."""
        return problem

    def threshold(self, estimator, threshold, *arguments):
        """A threshold fitted to a model's scores."""
        return threshold.fit(*arguments)


ALONE = Alone()
