"""Choice of parameters by cross-validation.

- :mod:`skml_odm.search.path_search` the estimator,
- :mod:`skml_odm.search.default_grid` what is searched if the user gives no grid,
- :mod:`skml_odm.search.candidates` which candidates are tried, and which of them together,
- :mod:`skml_odm.search.run` a search under way,
- :mod:`skml_odm.search.fold` the fits of a fold, :mod:`skml_odm.search.fold_cache` and
  :mod:`skml_odm.search.matrices` what one of them leaves to the others,
- :mod:`skml_odm.search.checkpoint`, :mod:`skml_odm.search.identity` finished fits on disk, and
  which search they are of,
- :mod:`skml_odm.search.progress` a progress bar.
"""

from .path_search import PathSearchCV

__all__ = ["PathSearchCV"]
