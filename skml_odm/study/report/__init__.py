"""The report of a study: one HTML page, the same in Markdown, tables, figures and numbers.

- :mod:`skml_odm.study.report.document` what a report is made of,
- :mod:`skml_odm.study.report.results` and :mod:`skml_odm.study.report.record` what it says,
- :mod:`skml_odm.study.report.pictures` its figures,
- :mod:`skml_odm.study.report.html`, :mod:`skml_odm.study.report.markdown`,
  :mod:`skml_odm.study.report.latex`, :mod:`skml_odm.study.report.comma_separated` its forms.

Numbers come from :mod:`skml_odm.study.summary`, tests from :mod:`skml_odm.study.statistics`.
"""

from .write import write_report

__all__ = ["write_report"]
