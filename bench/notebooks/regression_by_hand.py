"""Linear, ridge, lasso and logistic regression without a library for it."""

# %%
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)

# %%
samples, features = 16_000, 60
X = rng.normal(size=(samples, features))
X[:, 1] = 0.7 * X[:, 0] + 0.3 * X[:, 1]
truth = np.zeros(features)
truth[:15] = rng.normal(0, 2, 15)
y = X @ truth + rng.normal(0, 3, samples)
X.shape, y.std()

# %%
split = int(0.8 * samples)
X_train, X_test, y_train, y_test = X[:split], X[split:], y[:split], y[split:]
mean, scale = X_train.mean(axis=0), X_train.std(axis=0)
X_train, X_test = (X_train - mean) / scale, (X_test - mean) / scale


# %%
def mse(weights, X, y):
    return float(np.mean((X @ weights - y) ** 2))


ols = np.linalg.solve(X_train.T @ X_train, X_train.T @ y_train)
mse(ols, X_train, y_train), mse(ols, X_test, y_test)


# %%
def gradient_descent(X, y, rate, steps):
    weights = np.zeros(X.shape[1])
    history = []
    for _ in range(steps):
        residual = X @ weights - y
        history.append(residual @ residual / len(y))
        weights -= rate * (X.T @ residual) / len(y)
    return weights, history


weights, history = gradient_descent(X_train, y_train, 0.1, 150)
np.abs(weights - ols).max()

# %%
curves = {rate: gradient_descent(X_train, y_train, rate, 60)[1] for rate in (0.01, 0.03, 0.1, 0.3)}
for rate, curve in curves.items():
    plt.plot(curve, label=f"rate {rate}")
plt.legend()
plt.yscale("log")


# %%
def ridge(X, y, penalty):
    return np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ y)


def folds(count, parts):
    order = np.random.default_rng(1).permutation(count)
    for part in np.array_split(order, parts):
        yield np.setdiff1d(order, part), part


penalties = np.logspace(-2, 5, 15)
scores = []
for penalty in penalties:
    errors = []
    for inside, outside in folds(len(X_train), 5):
        errors.append(mse(ridge(X_train[inside], y_train[inside], penalty), X_train[outside], y_train[outside]))
    scores.append(np.mean(errors))
float(penalties[np.argmin(scores)])

# %%
plt.semilogx(penalties, scores, marker="o")
plt.xlabel("penalty")


# %%
def lasso(X, y, penalty, rounds):
    """Coordinate descent."""
    weights = np.zeros(X.shape[1])
    residual = y.copy()
    norms = (X**2).sum(axis=0)
    columns = np.asfortranarray(X)
    for _ in range(rounds):
        for j in range(X.shape[1]):
            residual += columns[:, j] * weights[j]
            rho = columns[:, j] @ residual
            weights[j] = np.sign(rho) * max(abs(rho) - penalty, 0) / norms[j]
            residual -= columns[:, j] * weights[j]
    return weights


path = {penalty: lasso(X_train, y_train, penalty, 20) for penalty in (100, 300, 1000, 3000, 10000, 30000)}
{penalty: int((weights != 0).sum()) for penalty, weights in path.items()}

# %%
for feature in range(20):
    plt.plot(list(path), [weights[feature] for weights in path.values()])
plt.xscale("log")

# %%
labels = (y > np.median(y)).astype(float)
labels_train, labels_test = labels[:split], labels[split:]


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def logistic(X, y, rounds):
    """Newton's method."""
    weights = np.zeros(X.shape[1])
    for _ in range(rounds):
        p = sigmoid(X @ weights)
        hessian = (X * (p * (1 - p))[:, None]).T @ X + 1e-6 * np.eye(X.shape[1])
        weights += np.linalg.solve(hessian, X.T @ (y - p))
    return weights


classifier = logistic(X_train, labels_train, 12)
predicted = sigmoid(X_test @ classifier)
float(np.mean((predicted > 0.5) == labels_test))

# %%
order = np.argsort(-predicted)
hits = np.cumsum(labels_test[order]) / labels_test.sum()
misses = np.cumsum(1 - labels_test[order]) / (1 - labels_test).sum()
auc = float(np.trapezoid(hits, misses))
plt.plot(misses, hits)
auc

# %%
estimates = []
for _ in range(60):
    chosen = rng.integers(0, split, split)
    estimates.append(ridge(X_train[chosen], y_train[chosen], 1.0)[:15])
low, high = np.percentile(estimates, [2.5, 97.5], axis=0)
int(((low < (truth * scale)[:15]) & ((truth * scale)[:15] < high)).sum())
