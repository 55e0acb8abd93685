"""Trees, a forest and boosting, grown by hand on a loan data set."""

# %%
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(88)

# %%
count = 6000
people = pd.DataFrame(
    {
        "age": rng.integers(18, 80, count),
        "income": rng.lognormal(10.6, 0.5, count).round(-2),
        "debt": rng.lognormal(8.5, 1.2, count).round(-2),
        "years_employed": rng.gamma(2, 4, count).round(1),
        "late_payments": rng.poisson(0.8, count),
        "owner": rng.integers(0, 2, count),
        "dependants": rng.integers(0, 5, count),
    }
)
risk = people["debt"] / people["income"] * 3 + people["late_payments"] * 0.8 - people["years_employed"] * 0.1
risk += (people["age"] < 25) * 0.8 - people["owner"] * 0.5 + rng.logistic(0, 0.6, count)
people["default"] = (risk > 1.4).astype(int)
people.describe().round(1)

# %%
people.groupby(pd.cut(people["age"], 6), observed=True)["default"].mean().plot.bar()

# %%
names = [name for name in people.columns if name != "default"]
X, y = people[names].to_numpy(float), people["default"].to_numpy()
X_train, X_test, y_train, y_test = X[:4500], X[4500:], y[:4500], y[4500:]
y_train.mean(), y_test.mean()


# %%
@dataclass
class Leaf:
    value: float


@dataclass
class Split:
    feature: int
    limit: float
    low: object
    high: object


def best_split(X, target, features, least):
    """The split that leaves the least squared error; for 0 and 1 that is Gini's."""
    found = (np.inf, None, None)
    for feature in features:
        order = np.argsort(X[:, feature], kind="stable")
        values, wanted = X[order, feature], target[order]
        size = np.arange(1, len(wanted))
        left, right = np.cumsum(wanted)[:-1], wanted.sum() - np.cumsum(wanted)[:-1]
        error = -(left**2) / size - right**2 / (len(wanted) - size)
        error[(values[1:] == values[:-1]) | (size < least) | (len(wanted) - size < least)] = np.inf
        at = int(error.argmin()) if len(error) else 0
        if len(error) and error[at] < found[0]:
            found = (error[at], feature, (values[at] + values[at + 1]) / 2)
    return found


def grow(X, target, depth, least=5, some=None):
    if depth == 0 or len(target) < 2 * least or target.min() == target.max():
        return Leaf(float(target.mean()))
    features = range(X.shape[1]) if some is None else rng.choice(X.shape[1], some, replace=False)
    _, feature, limit = best_split(X, target, features, least)
    if feature is None:
        return Leaf(float(target.mean()))
    low = X[:, feature] <= limit
    return Split(
        int(feature),
        float(limit),
        grow(X[low], target[low], depth - 1, least, some),
        grow(X[~low], target[~low], depth - 1, least, some),
    )


def predict(tree, X):
    if isinstance(tree, Leaf):
        return np.full(len(X), tree.value)
    result, low = np.empty(len(X)), X[:, tree.feature] <= tree.limit
    result[low], result[~low] = predict(tree.low, X[low]), predict(tree.high, X[~low])
    return result


tree = grow(X_train, y_train, 4)
float(((predict(tree, X_test) > 0.5) == y_test).mean())


# %%
def show(tree, indent=""):
    if isinstance(tree, Leaf):
        return f"{indent}{tree.value:.2f}\n"
    name = names[tree.feature]
    return f"{indent}{name} <= {tree.limit:.1f}\n{show(tree.low, indent + '  ')}{show(tree.high, indent + '  ')}"


print(show(grow(X_train, y_train, 2)))

# %%
depths = range(1, 16)
trees = {depth: grow(X_train, y_train, depth, least=1) for depth in depths}
for part, wanted in ((X_train, y_train), (X_test, y_test)):
    plt.plot(depths, [((predict(trees[depth], part) > 0.5) == wanted).mean() for depth in depths])

# %%
forest = []
for _ in range(80):
    chosen = rng.integers(0, len(X_train), len(X_train))
    forest.append((grow(X_train[chosen], y_train[chosen], 12, some=3), np.setdiff1d(np.arange(len(X_train)), chosen)))
votes = np.mean([predict(tree, X_test) for tree, _ in forest], axis=0)
float(((votes > 0.5) == y_test).mean())

# %%
total, seen = np.zeros(len(X_train)), np.zeros(len(X_train))
for tree, outside in forest:
    total[outside] += predict(tree, X_train[outside])
    seen[outside] += 1
out_of_bag = total / np.maximum(seen, 1)
float(((out_of_bag > 0.5) == y_train).mean())

# %%
base = np.mean((votes > 0.5) == y_test)
importance = {}
for feature, name in enumerate(names):
    mixed = X_test.copy()
    mixed[:, feature] = rng.permutation(mixed[:, feature])
    again = np.mean([predict(tree, mixed) for tree, _ in forest], axis=0)
    importance[name] = float(base - np.mean((again > 0.5) == y_test))
plt.barh(list(importance), list(importance.values()))
importance


# %%
def boost(rounds, rate, depth):
    score, score_test = np.zeros(len(y_train)), np.zeros(len(y_test))
    history = []
    for _ in range(rounds):
        slope = y_train - 1 / (1 + np.exp(-score))
        step = grow(X_train, slope, depth, least=20)
        score += rate * predict(step, X_train)
        score_test += rate * predict(step, X_test)
        history.append(float(((score_test > 0) == y_test).mean()))
    return history, score_test


curves = {(rate, depth): boost(60, rate, depth) for rate in (0.3, 1.0) for depth in (2, 3)}
{key: max(history) for key, (history, _) in curves.items()}

# %%
for key, (history, _) in curves.items():
    plt.plot(history, label=str(key))
plt.legend()


# %%
def curve(score, wanted):
    order = np.argsort(-score)
    return np.cumsum(1 - wanted[order]) / (1 - wanted).sum(), np.cumsum(wanted[order]) / wanted.sum()


areas = {"forest": votes, "boosting": curves[1.0, 3][1], "tree": predict(trees[5], X_test)}
for name, score in areas.items():
    x, hits = curve(score, y_test)
    areas[name] = float(np.trapezoid(hits, x))
    plt.plot(x, hits, label=name)
plt.legend()
areas

# %%
bins = pd.cut(votes, np.linspace(0, 1, 11), include_lowest=True)
pd.DataFrame({"said": votes, "was": y_test}).groupby(bins, observed=True).mean().round(2)
