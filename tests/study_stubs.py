"""Classifiers that fail, crash, sleep or talk; other processes import them, too."""

import os
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator


class Frequencies(BaseEstimator):
    """Scores each label with its frequency plus a little of a feature, so that rows differ."""

    def __init__(self, weight=0.3):
        self.weight = weight

    def fit(self, X, y):
        self.frequencies_ = np.asarray(y).mean(axis=0)
        return self

    def label_scores(self, X):
        return self.frequencies_ + self.weight * np.asarray(X)[:, : len(self.frequencies_)]

    def predict(self, X):
        return (self.label_scores(X) > 0.5).astype(int)


class Failing(Frequencies):
    def fit(self, X, y):
        raise ValueError("as\ntold")


class Twos(Frequencies):
    def predict(self, X):
        return 2 * super().predict(X)


class Leaving(Frequencies):
    def fit(self, X, y):
        sys.exit(3)


class Interrupting(Frequencies):
    def fit(self, X, y):
        raise KeyboardInterrupt


class Crashing(Frequencies):
    def fit(self, X, y):
        os._exit(7)


class Talking(Frequencies):
    def fit(self, X, y):
        print("hello from fit")
        sys.stdout.flush()
        return super().fit(X, y)


class Sleeping(Frequencies):
    """Takes its time, and notes in a file that it was fitted, to which rows."""

    def __init__(self, weight=0.3, seconds=0.05, log=None):
        super().__init__(weight)
        self.seconds = seconds
        self.log = log

    def fit(self, X, y):
        time.sleep(self.seconds)
        if self.log is not None:
            with Path(self.log).open("a") as file:
                file.write(f"{self.weight} {np.asarray(X).sum():.10f}\n")
        return super().fit(X, y)
