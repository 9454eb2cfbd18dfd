"""Solvers for  min_A ½⟨A, K A⟩ + L(K A):  an operator and a loss in, coefficients and proof out.

A solver never sees an estimator. Each takes ``(operator, loss, *, tol, max_iter, verbose)`` and
returns a :class:`~skml_odm.solvers.result.Result`.

==========  ======================================================================
auto        block coordinate descent, handing over to Newton's method when slow
newton      Newton's method in function space, conjugate gradients inside
bcd         dual block coordinate descent with exact block steps
m3          dual block coordinate descent with multiplicative updates (paper 000)
binary_svm  one weighted binary SVM per label; its own signature, for it has no label pairs
==========  ======================================================================
"""
