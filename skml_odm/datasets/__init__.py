"""Data: readers of files, a data sheet, and sets that come with the package.

No data file is shipped, and nothing is downloaded unless a set of the host is asked for by name.
"""

from .alignment import Alignment, ShiftedRows, row_alignment
from .dataset import DataSet
from .embedded import load_digit_attributes
from .files import DataFileError
from .label_columns import ShiftedColumns, column_alignment
from .load import load_data
from .noise import add_candidate_noise, hide_labels
from .sheet import DataSheet, data_sheet

__all__ = [
    "Alignment",
    "DataFileError",
    "DataSet",
    "DataSheet",
    "ShiftedColumns",
    "ShiftedRows",
    "add_candidate_noise",
    "column_alignment",
    "data_sheet",
    "hide_labels",
    "load_data",
    "load_digit_attributes",
    "row_alignment",
]
