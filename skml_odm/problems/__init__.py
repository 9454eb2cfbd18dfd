"""What a solver may know of Y: losses over the labels of a row, with their compiled loops.

=============================  =================================================================
:mod:`.contract`               what a problem must offer to which solver
:mod:`.pairs`                  ``PairLoss``: two-sided squared loss on label pairs (MLODM, RankLSVM,
                               RankCVM); ``ConfidenceLoss``: pairs weighted by differences of
                               confidence (PMLODM)
:mod:`.hinge`                  ``HingeLoss`` on label pairs and its multipliers (RankSVM)
:mod:`.rows`                   ``SeparationLoss`` of the worst label on either side (CSRL),
                               ``BinaryLoss``, a hinge loss per label (M3L)
:mod:`.covariance`             covariances of label models, given or learned (CSRL, M3L)
``_classes``                   the blocks of multi-class problems (MCODM)
=============================  =================================================================
"""
