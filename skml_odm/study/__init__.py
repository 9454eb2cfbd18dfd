"""Comparative studies: the same folds and measures for several multi-label classifiers.
"""
from .definition import Study, make_study, read_study
from .one_class import OneClassAllowed
from .run import run_study
