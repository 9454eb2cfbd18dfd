"""Learning problems with unknown labels, each as a quadratic program, written out."""

import numpy as np
from problems import features_of, solve_quadratic_program

from skml_odm import CSRL, M3L, MLODM, RankSVM, RankSVMz

GAMMA = 0.3
PRECISE = {"kernel": "rbf", "gamma": GAMMA, "tol": 1e-8, "threshold": "zero", "max_iter": 100_000}


def random_data(seed, m=11, q=4, share=0.35):
    """Rows, labels of which some are unknown (NaN), all of the first row, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = (rng.random((m, q)) < rng.uniform(0.3, 0.7)).astype(float)
    y[rng.random((m, q)) < share] = np.nan
    y[0] = np.nan
    return X, y, rng.uniform(0.2, 2.0, size=m) if seed % 2 else np.ones(m)


class Program:
    """min ½ Σ_j square_j z_j² + Σ_t weight_t ξ_t (or ½ ξ_t²),  rows_t z + ξ_t ≥ least_t,  ξ ≥ 0."""

    def __init__(self, K, n_scores, has_biases=False):
        self.features = features_of(K)
        self.n_scores = n_scores
        self.square = np.ones(n_scores * self.features.shape[1])
        if has_biases:
            self.features = np.hstack([self.features, np.ones((len(K), 1))])
            self.square = np.tile(np.append(np.ones(self.features.shape[1] - 1), 0.0), n_scores)
        self.rows, self.least, self.slack, self.costs = [], [], [], []

    def add(self, weight, rows, squared=False):
        """A slack that is shared by rows (i, {score: factor}, least)."""
        for i, factors, least in rows:
            row = np.zeros((self.n_scores, self.features.shape[1]))
            for k, factor in factors.items():
                row[k] = factor * self.features[i]
            self.rows.append(row.ravel())
            self.least.append(least)
            self.slack.append(len(self.costs))
        self.costs.append((weight, squared))

    def optimum(self):
        n, n_slack = len(self.square), len(self.costs)
        weight, squared = np.array(self.costs).T
        owners = np.eye(n_slack)[self.slack]
        matrix = np.vstack(
            [
                -np.hstack([self.rows, owners]),
                -np.hstack([np.zeros((n_slack, n)), np.eye(n_slack)]),
            ]
        )
        bounds = np.concatenate([-np.array(self.least), np.zeros(n_slack)])
        square = np.concatenate([self.square, weight * squared])
        linear = np.concatenate([np.zeros(n), weight * (1.0 - squared)])
        return solve_quadratic_program(square, linear, matrix, bounds, 1e-10)


def two_sided(program, weight, i, k, label, theta, mu):
    program.add(weight, [(i, {k: 1.0, label: -1.0}, 1.0 - theta)], squared=True)
    program.add(mu * weight, [(i, {k: -1.0, label: 1.0}, -1.0 - theta)], squared=True)


def of_rows(y, weight):
    """Number, relevant and irrelevant labels, and weight of every row; unknown ones are neither."""
    for i, (row, w) in enumerate(zip(y, weight, strict=True)):
        yield i, np.flatnonzero(row == 1), np.flatnonzero(row == 0), w


def pairs(K, y, weight, zero_label=False):
    program, q = Program(K + 1.0, y.shape[1] + zero_label), y.shape[1]
    for i, relevant, irrelevant, w in of_rows(y, weight):
        for k in relevant:
            for label in irrelevant:
                c = 4.0 * w / (len(relevant) * len(irrelevant))
                two_sided(program, c, i, k, label, 0.1, 0.7)
        for k in relevant if zero_label else ():
            two_sided(program, 2.0 * w / len(relevant), i, k, q, 0.1, 0.7)
        for label in irrelevant if zero_label else ():
            two_sided(program, 2.0 * w / len(irrelevant), i, q, label, 0.1, 0.7)
    return program.optimum()


def hinge(K, y, weight):
    program = Program(K, y.shape[1], has_biases=True)
    for i, relevant, irrelevant, w in of_rows(y, weight):
        for k in relevant:
            for label in irrelevant:
                c = 4.0 * w / (len(relevant) * len(irrelevant))
                program.add(c, [(i, {k: 1.0, label: -1.0}, 1.0)])
    return program.optimum()


def cells(K, y, weight, shared):
    """A hinge loss per known label, its weight shared by the relevant or irrelevant ones or not."""
    program = Program(K + (not shared), y.shape[1], has_biases=shared)
    for i, relevant, irrelevant, w in of_rows(y, weight):
        for sign, labels in ((1.0, relevant), (-1.0, irrelevant)):
            for k in labels:
                program.add(4.0 * w / (len(labels) if shared else 1), [(i, {k: sign}, 1.0)])
    return program.optimum()


def sides(K, y, weight):
    """A hinge loss for each side of a row against the dummy label, the last one."""
    program, q = Program(K / 0.2, y.shape[1] + 1), y.shape[1]
    for i, relevant, irrelevant, w in of_rows(y, weight):
        for sign, labels in ((1.0, relevant), (-1.0, irrelevant)):
            program.add(w, [(i, {k: sign, q: -sign}, 1.0) for k in labels])
    return program.optimum()


def confidences(K, y, _, P, of_candidates):
    """The pairs of a row count 4 together."""
    program = Program(K + 1.0, y.shape[1])
    for i, row in enumerate(y):
        known = np.flatnonzero(~np.isnan(row))
        difference = {
            (k, label): P[i, k] - P[i, label]
            for k in known
            for label in known
            if (row[k] > row[label] if of_candidates else P[i, k] > P[i, label])
        }
        for (k, label), share in difference.items():
            c = 4.0 * share / sum(difference.values())
            two_sided(program, c, i, k, label, 0.1, 0.7)
    return program.optimum()


LOSS = {"theta": 0.1, "mu": 0.7}
PROBLEMS = {
    "newton": (MLODM(C=4.0, **LOSS, solver="newton", zero_label=False), pairs),
    "bcd": (MLODM(C=4.0, **LOSS, solver="bcd", zero_label=False), pairs),
    "auto": (MLODM(C=4.0, **LOSS, zero_label=False), pairs),
    "zero label": (
        MLODM(C=4.0, **LOSS, zero_label=True),
        lambda K, y, w: pairs(K, y, w, zero_label=True),
    ),
    "zero label by bcd": (
        MLODM(C=4.0, **LOSS, zero_label=True, solver="bcd"),
        lambda K, y, w: pairs(K, y, w, zero_label=True),
    ),
    "multipliers": (RankSVM(C=4.0, solver="multipliers"), hinge),
    "hinge by newton": (RankSVM(C=4.0, solver="newton"), hinge),
    "hinge": (RankSVM(C=4.0), hinge),
    "with a zero label": (RankSVMz(C=4.0), lambda K, y, w: cells(K, y, w, shared=True)),
    "separation": (CSRL(beta=0.2), sides),
    "cells": (M3L(C=4.0, covariance=None), lambda K, y, w: cells(K, y, w, shared=False)),
}
