"""The study file that ``skml-odm init`` writes."""

TEMPLATE = """\
# A comparative study. Run it with: skml-odm compare THIS_FILE
# Lines that start with # are examples or explanations.

title = "My comparison"

# Data sets: files, or names. Paths start at this file's folder; $VARIABLES are filled in.
data = [
    "digits",                                  # embedded; so is "synthetic"
    # "emotions.arff",                         # MULAN: emotions.xml lies beside it
    # "meka.arff",                             # MEKA: the relation name has -C 6
    # ["scene-train.arff", "scene-test.arff"], # the publishers' split
    # "rows.svm",                              # svmlight, several labels per row
    # { source = "rows.csv", labels = ["red", "green"] },
    # "rows.npz",                              # arrays X and Y
    # { source = "some.npz", swap_split = true, labelled_rows_only = true, without_labels = ["x"] },
    # "host:yeast",                            # scikit-multilearn downloads it
]

# The classifier that others are compared with; the first one if left out.
control = "MLODM"

# Seconds for one classifier on one fold, its search included.
time_limit = 600

# Follow on the first fold how fits of our classifiers converge.
curves = false

[protocol]
kind = "folds"            # or "random" splits, or the "official" one
folds = 5
repeats = 1               # of folds or random splits
stratified = true         # every fold gets its share of each label
test_share = 0.2          # of random splits
training_rows = 0         # of random splits, instead of the share
scaling = "unit"          # features in [0, 1] on the training part; or "standard", "tf-idf", "none"
candidate_noise = 0       # irrelevant labels added to each training row (partial labels)
hidden = 0.0              # share of the training labels that are made unknown
labelled_rows_only = false
fewest_rows = 0           # drop labels that fewer rows have
fewest_rows_of_features = 0
seed = 0

# Where a classifier has a grid, each training part is searched by cross-validation.
[tuning]
folds = 3
measure = "ranking_loss"
most_rows = 0             # draw so many rows of larger training parts for the search; 0: all

[[classifiers]]
estimator = "MLODM"
[classifiers.grid]
C = { powers_of_two = [-2, 6, 2] }             # 1/4, 1, 4, 16, 64
gamma = ["scale", 0.1, 1.0]

[[classifiers]]
estimator = "MLkNN"
grid = { k = [5, 10, 20] }

# Estimators inside estimators are tables; any importable class is named by its dotted path.
# OneClassAllowed answers for labels that a training part lacks.
[[classifiers]]
name = "BinaryRelevance(SVC)"
estimator = "BinaryRelevance"
[classifiers.parameters]
require_dense = [true, true]
[classifiers.parameters.classifier]
estimator = "OneClassAllowed"
parameters = { estimator = { estimator = "sklearn.svm.SVC", parameters = { C = 1.0 } } }

# dense = true makes sparse features dense for a classifier that needs it.
# [[classifiers]]
# name = "extra trees"
# estimator = "sklearn.multiclass.OneVsRestClassifier"
# dense = true
# parameters = { estimator = { estimator = "sklearn.ensemble.ExtraTreesClassifier" } }

# on_data fixes parameters for single data sets, grid_on_data gives them another grid, final has
# parameters of the last fit after a search.
# [[classifiers]]
# estimator = "RankSVM"
# on_data = { digits = { C = 4.0 } }
# final = { tol = 1e-6 }
"""
