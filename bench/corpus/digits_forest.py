"""Handwritten digits, bundled: a forest, its mistakes, and which pixels matter. Training takes its time, the model is small."""

# %%
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import cross_val_score, train_test_split

# %%
digits = load_digits()
train_x, test_x, train_y, test_y = train_test_split(digits.data, digits.target, random_state=3)
train_x.shape

# %%
scores = {}
for depth in (4, 8, 12):
    forest = RandomForestClassifier(60, max_depth=depth, random_state=1)
    scores[depth] = cross_val_score(forest, train_x, train_y, cv=3).mean()
scores

# %%
forest = RandomForestClassifier(40, max_depth=8, random_state=1).fit(train_x, train_y)
table = confusion_matrix(test_y, forest.predict(test_x))
table

# %%
importance = forest.feature_importances_.reshape(8, 8)
dull = np.argwhere(importance < 1e-4)
len(dull)
