"""Data that comes with the package: nothing is downloaded, and no data file is shipped.

Synthetic data is scikit-learn's business: ``sklearn.datasets.make_multilabel_classification``.
"""

from .embedded import load_digit_attributes

__all__ = ["load_digit_attributes"]
