"""Margin-distribution and ranking-margin learning for multi-label data.

An *estimator* checks its input and states a learning problem: *features* on one side, a *problem*
over the labels of a row on the other. A *solver* that knows only these two returns coefficients
with a certificate, and a *decision* turns scores into labels. Data goes one way through these
rooms; each imports only from rooms above it:

- :mod:`skml_odm.utils` checks of what users pass in, threads, SQLite files,
- :mod:`skml_odm.metrics` measures that scikit-learn lacks, and scorers,
- :mod:`skml_odm.features` what a solver knows of X: kernels, and operators V ↦ K V,
- :mod:`skml_odm.problems` what a solver knows of Y: losses, with their compiled loops,
- :mod:`skml_odm.solvers` from both to coefficients and a duality gap,
- :mod:`skml_odm.decisions` from scores to labels,
- :mod:`skml_odm.estimators` the classifiers, a file each,
- :mod:`skml_odm.search` choice of parameters by cross-validation,
- :mod:`skml_odm.datasets` data files and embedded data,
- :mod:`skml_odm.study` comparative studies: the command ``skml-odm``.
"""

try:
    from .estimators.csrl import CSRL
    from .estimators.label_decision import LabelDecisionCV
    from .estimators.m3l import M3L
    from .estimators.mcodm import MCODM
    from .estimators.mlodm import MLODM
    from .estimators.odm import ODM
    from .estimators.particle import Particle
    from .estimators.pml_lrs import PMLLRS
    from .estimators.pmlodm import PMLODM
    from .estimators.rank_cvm import RankCVM
    from .estimators.rank_lsvm import RankLSVM
    from .estimators.rank_svm import RankSVM
    from .estimators.rank_svmz import RankSVMz
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
    "LabelDecisionCV",
    "Particle",
    "PathSearchCV",
    "RankCVM",
    "RankLSVM",
    "RankSVM",
    "RankSVMz",
    "__version__",
]
