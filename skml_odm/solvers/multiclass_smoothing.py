"""How much Newton's method smooths the losses of mcODM, and what judges its steps.

The loss of row i is smoothed by σ_i = s/c_i around its coefficients A. The smaller σ is, the faster
A follows the scores, but the rougher is the function that the steps are taken on.

Where classes overlap, A grows with C, and s = 1 is about right for every C. Where they do not, A
hardly depends on a large C. With s = 1 the function is then all but a wall: steps are short, and
the method gets stuck. But the method of multipliers needs no small σ, and with one in proportion to
the squared norms κ of the rows the function stays tame however large C is. So *steep* problems, of
large cκ, begin with a large s. If A grows much in a full step classes overlap after all, and s
falls fast; where J hardly falls while the gap is as large as J itself, it is A that lags behind,
and s = 1 is right.

Steps of steep problems are judged by the smooth function, for on the way J rises in good steps,
too. That presumes that one step's function has much in common with the next one's. It has not where
many rows have a multiplier β, for then rivals matter, and these change: such problems are left to
s = 1, too, and J judges.
"""

import numpy as np

from ..problems._class_smoothing import smooth_step

# s at first, and at most; smaller after full steps, larger after short ones.
SMOOTHING = 1.0
MOST_SMOOTHING = 10.0
LEAST_SMOOTHING = 1e-8
# The same for steep problems, in units of cκ.
STEEP = 0.03
MOST_STEEP = 1.0
# Share of rows with β > 0 up to which a problem may be treated as steep.
FEW_ABOVE = 0.1
# If a full step makes coefficients grow by more than this factor, s is divided by the other one.
GROWTH = 1.3
FALL = 4.0
# Coefficients lag behind where the relative gap is above the first number and J has fallen by less
# than the second one's share, in so many steps in a row.
LAGGING_GAP = 0.6
LAGGING_FALL = 0.05
LAGGING_STEPS = 2
TINY = np.finfo(np.float64).tiny


class Smoothing:
    """The smoothing of one run of Newton's method.

    Parameters
    ----------
    blocks : Blocks

    Attributes
    ----------
    value : float
        s.
    steep : bool
        Whether the smooth function judges steps.
    """

    def __init__(self, blocks):
        stiffness = float(np.mean(blocks.diagonal) * np.mean(blocks.weight))
        self.value = max(SMOOTHING, STEEP * stiffness)
        self.most = max(MOST_SMOOTHING, MOST_STEEP * stiffness)
        self.steep = self.value > SMOOTHING
        self.growth = 1.0
        self.objective, self.n_lagging = np.inf, 0

    def look(self, objective, gap):
        """Take note of J and of the duality gap."""
        lags = gap > LAGGING_GAP * objective and objective > (1.0 - LAGGING_FALL) * self.objective
        self.n_lagging = self.n_lagging + 1 if lags else 0
        self.objective = objective
        if self.steep and self.n_lagging >= LAGGING_STEPS:
            self._begin_anew()

    def step(self, blocks, scores):
        """Replace coefficients by those of the smooth losses; returns the old ones."""
        centre = np.array(blocks.coefficients)
        smooth_step(blocks, scores, self.value)
        if self.steep and np.mean(np.asarray(blocks.over) > 0.0) > FEW_ABOVE:
            self._begin_anew()
            blocks.coefficients = centre.copy()
            smooth_step(blocks, scores, self.value)
        if self.steep:
            # in units of what it was
            self.growth = np.abs(blocks.coefficients).sum() / max(np.abs(centre).sum(), TINY)
        return centre

    def _begin_anew(self):
        self.value, self.most, self.steep = SMOOTHING, MOST_SMOOTHING, False

    def adapt(self, length, least_length):
        """Choose s for the next step.

        Parameters
        ----------
        length : float
            Of the step; 0 if none was taken.
        least_length : float
            Shorter steps are too short.
        """
        if length < least_length:
            self.value = min(2.0 * self.value, self.most)
        elif length == 1.0:
            fast = self.steep and self.growth > GROWTH and self.value > SMOOTHING
            self.value = max(self.value / (FALL if fast else 2.0), LEAST_SMOOTHING)
