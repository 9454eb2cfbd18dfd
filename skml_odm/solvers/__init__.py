"""Solvers for  min_A ½⟨A, K A⟩ + L(K A):  an operator and a loss in, coefficients and proof out.

A solver never sees an estimator. Each takes ``(operator, loss, *, tol, max_iter, verbose)`` and
returns a :class:`~skml_odm.solvers.result.Result`.

====================  ========================================================================
turns                 a descent method and one of Newton's type take turns; tables of solvers
newton                Newton's method in function space, conjugate gradients inside
bcd                   dual block coordinate descent, exact or multiplicative (M³) block steps
frank_wolfe           Frank-Wolfe steps on the simplex of label pairs (paper 003), for Rank-CVM
multipliers           for Rank-SVM: method of multipliers, coordinate steps over label pairs
row_ascent            for CSRL and M3L: dual ascent row by row
proximal              for both: proximal point method with Newton's method inside
balanced_frank_wolfe  Frank-Wolfe steps with a minimum-cost circulation each (paper 003)
binary_svm            one weighted binary SVM per label; its own signature, for it has no pairs
multiclass            for mcODM: convex majorants, dual block coordinate descent; its own signature
multiclass_newton     for mcODM: Newton's method on the weights
====================  ========================================================================
"""
