"""Comparative studies: the same folds and measures for several multi-label classifiers.

- :mod:`skml_odm.study.scores` label scores of any classifier, so that rankings can be compared,
- :mod:`skml_odm.study.comparison` cross-validation, one result per classifier and fold,
- :mod:`skml_odm.study.table` the results as text,
- :mod:`skml_odm.study.cli` the command ``skml-odm``.
"""

from .comparison import FoldResult, compare, standard_classifiers
from .scores import label_scores_of
from .table import format_table

__all__ = ["FoldResult", "compare", "format_table", "label_scores_of", "standard_classifiers"]
