"""Margin-distribution and ranking-margin learning for multi-label data.

An *estimator* checks its input, describes the learning problem as a *loss* over label pairs and an
*operator* V ↦ K V, hands both to a *solver* that returns coefficients with a certificate, and turns
scores into labels with a *threshold*. Data goes one way through these rooms:

- :mod:`skml_odm.mlodm`, :mod:`skml_odm.rank_svm` and so on the estimators,
  :mod:`skml_odm.particle` (with :mod:`skml_odm.propagation`), :mod:`skml_odm.pml_lrs` (with
  :mod:`skml_odm.solvers.low_rank_sparse`) those of partial labels they are compared with;
  :mod:`skml_odm.base` what they share with the host; :mod:`skml_odm.mcodm` and
  :mod:`skml_odm.odm` plain scikit-learn classifiers, with :mod:`skml_odm.classifier` in common,
- :mod:`skml_odm.validation` checks of what users pass in,
- :mod:`skml_odm.kernels`, :mod:`skml_odm.operators` what a solver knows of the features,
- :mod:`skml_odm.losses`, :mod:`skml_odm.covariance` what it knows of the labels,
- :mod:`skml_odm.solvers` the solvers and their compiled pieces,
- :mod:`skml_odm.thresholds` from scores to labels,
- :mod:`skml_odm.metrics` measures scikit-learn lacks, and scorers,
- :mod:`skml_odm.search` choice of parameters by cross-validation, with what fits share
  (:mod:`skml_odm.sharing`),
- :mod:`skml_odm.datasets`, :mod:`skml_odm.study` embedded data, and the command ``skml-odm``.
"""

try:
    from .csrl import CSRL
    from .m3l import M3L
    from .mcodm import MCODM
    from .mlodm import MLODM
    from .odm import ODM
    from .particle import Particle
    from .pml_lrs import PMLLRS
    from .pmlodm import PMLODM
    from .rank_cvm import RankCVM
    from .rank_lsvm import RankLSVM
    from .rank_svm import RankSVM
    from .rank_svmz import RankSVMz
    from .search import PathSearchCV
except ImportError as error:
    if (error.name or "").startswith("skmultilearn"):
        # scikit-multilearn 0.2.0 and scikit-multilearn-ng have the same files: who removes one of
        # two that were installed removes those of the other
        raise ImportError(
            f"scikit-multilearn is not there, or only in part ({error}). Install it anew: "
            "pip uninstall -y scikit-multilearn; "
            "pip install --force-reinstall --no-deps scikit-multilearn-ng"
        ) from error
    if not (error.name or "").startswith(__name__):
        raise
    raise ImportError(
        f"{error.name} is not compiled. You are in the source folder, which hides the installed "
        'package: work in another folder, or install with pip install -e ".[bench]".'
    ) from error

__version__ = "0.1.0"
__all__ = [
    "CSRL",
    "M3L",
    "MCODM",
    "MLODM",
    "ODM",
    "PMLLRS",
    "PMLODM",
    "Particle",
    "PathSearchCV",
    "RankCVM",
    "RankLSVM",
    "RankSVM",
    "RankSVMz",
    "__version__",
]
