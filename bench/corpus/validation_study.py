"""How many neighbours: a long study with a short answer."""

# %%
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RepeatedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

# %%
tumours = load_breast_cancer()
features, labels = scale(tumours.data), tumours.target
features.shape

# %%
rows = []
for fold, (train, test) in enumerate(RepeatedKFold(n_splits=5, n_repeats=4, random_state=1).split(features)):
    for neighbours in range(1, 40, 3):
        model = KNeighborsClassifier(neighbours).fit(features[train], labels[train])
        rows.append((fold, neighbours, model.score(features[test], labels[test])))
study = pd.DataFrame(rows, columns=["fold", "neighbours", "score"])
len(study)

# %%
means = study.groupby("neighbours")["score"].agg(["mean", "std"])
choice = int(means["mean"].idxmax())
choice

# %%
del model, train, test, rows, fold, neighbours
final = KNeighborsClassifier(choice).fit(features, labels)
spread = float(np.ptp(means["mean"]))
round(spread, 4)
