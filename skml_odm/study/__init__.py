"""Comparative studies: data sets × classifiers × a protocol, from files to tables and pictures.

- :mod:`skml_odm.study.definition` a study, and the file that describes it
  (:mod:`skml_odm.study.template`, :mod:`skml_odm.study.standard`),
- :mod:`skml_odm.study.protocol` training and test parts, :mod:`skml_odm.study.estimators`
  classifiers from their names,
- :mod:`skml_odm.study.cell` one classifier on one fold, evaluated
  (:mod:`skml_odm.study.evaluation`) in a process of its own (:mod:`skml_odm.study.process`),
  scored (:mod:`skml_odm.decisions.scores`), measured (:mod:`skml_odm.study.measures`,
  :mod:`skml_odm.study.memory`) and observed (:mod:`skml_odm.study.observation`),
- :mod:`skml_odm.study.run` all of them, kept in an SQLite file (:mod:`skml_odm.study.store`),
- :mod:`skml_odm.study.report` tables, tests and pictures,
- :mod:`skml_odm.study.cli` the command ``skml-odm``.
"""

from ..decisions.scores import label_scores_of
from .cell import Classifier, Tuning
from .definition import Study, make_study, read_study
from .estimators import DefinitionError
from .one_class import OneClassAllowed
from .one_label import OneLabel
from .outcome import Outcome
from .protocol import Protocol
from .run import run_study
from .unknown import UnknownIsIrrelevant

__all__ = [
    "Classifier",
    "DefinitionError",
    "OneClassAllowed",
    "OneLabel",
    "Outcome",
    "Protocol",
    "Study",
    "Tuning",
    "UnknownIsIrrelevant",
    "label_scores_of",
    "make_study",
    "read_study",
    "run_study",
]
