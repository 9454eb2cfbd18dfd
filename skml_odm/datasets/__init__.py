"""Data: readers of files, a data sheet, and sets that come with the package.

No data file is shipped, and nothing is downloaded unless a set of the host is asked for by name.
"""

from .alignment import Alignment, ShiftedRows, row_alignment
from .dataset import DataSet
from .embedded import load_digit_attributes
from .files import DataFileError
from .load import load_data
from .noise import add_candidate_noise

__all__ = [
    "Alignment",
    "DataFileError",
    "DataSet",
    "ShiftedRows",
    "add_candidate_noise",
    "load_data",
    "load_digit_attributes",
    "row_alignment",
]
