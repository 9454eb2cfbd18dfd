"""Data that comes with the package: nothing is downloaded, and no data file is shipped.

Synthetic data is scikit-learn's business: ``sklearn.datasets.make_multilabel_classification``.
"""

from .embedded import load_digit_attributes
from .noise import add_candidate_noise

__all__ = ["add_candidate_noise", "load_digit_attributes"]
