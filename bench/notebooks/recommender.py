"""What to watch next: ratings, neighbours, factors, and whether they help."""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(55)

# %%
users, films, taste = 3000, 1200, 8
user_taste, film_taste = rng.normal(0, 0.6, (users, taste)), rng.normal(0, 0.6, (films, taste))
user_mood, film_quality = rng.normal(0, 0.4, users), rng.normal(0, 0.5, films)
popularity = 1 / (np.arange(films) + 10)
ratings = pd.DataFrame(
    {
        "user": rng.integers(0, users, 260_000),
        "film": rng.choice(films, 260_000, p=popularity / popularity.sum()),
    }
).drop_duplicates(ignore_index=True)
true = 3.5 + user_mood[ratings["user"]] + film_quality[ratings["film"]]
true = true + (user_taste[ratings["user"]] * film_taste[ratings["film"]]).sum(axis=1)
ratings["stars"] = np.clip(np.round((true + rng.normal(0, 0.5, len(ratings))) * 2) / 2, 0.5, 5)
ratings.head()

# %%
titles = pd.Series([f"Film {number} ({1950 + number % 70})" for number in range(films)], name="title")
genres = pd.Series(rng.choice(["drama", "comedy", "thriller", "documentary"], films), name="genre")
catalogue = pd.concat([titles, genres], axis=1)
named = ratings.merge(catalogue, left_on="film", right_index=True)
named.groupby("genre")["stars"].agg(["mean", "count"])

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3))
axes[0].hist(ratings["stars"], bins=10)
axes[1].loglog(ratings["film"].value_counts().to_numpy())

# %%
hidden = rng.random(len(ratings)) < 0.15
train, test = ratings[~hidden], ratings[hidden]
len(train), len(test)


# %%
def rmse(predicted, wanted):
    return float(np.sqrt(np.mean((np.clip(predicted, 0.5, 5) - wanted) ** 2)))


mean = train["stars"].mean()
film_bias = (train["stars"] - mean).groupby(train["film"]).mean().reindex(range(films)).fillna(0).to_numpy()
rest = train["stars"] - mean - film_bias[train["film"]]
user_bias = rest.groupby(train["user"]).mean().reindex(range(users)).fillna(0).to_numpy()
baseline = mean + film_bias[test["film"]] + user_bias[test["user"]]
rmse(np.full(len(test), mean), test["stars"]), rmse(baseline, test["stars"])

# %%
matrix = np.zeros((users, films), np.float32)
residual = train["stars"] - mean - film_bias[train["film"]] - user_bias[train["user"]]
matrix[train["user"], train["film"]] = residual
known = matrix != 0
norm = np.linalg.norm(matrix, axis=0) + 10
similar = (matrix.T @ matrix) / np.outer(norm, norm)
np.fill_diagonal(similar, 0)
float(similar.max())


# %%
def by_neighbours(pairs, count):
    predicted = np.empty(len(pairs))
    for place, (user, film) in enumerate(pairs):
        seen = np.flatnonzero(known[user])
        near = seen[np.argsort(-similar[film, seen])[:count]]
        weight = np.maximum(similar[film, near], 0)
        total = weight.sum()
        predicted[place] = weight @ matrix[user, near] / (total + 0.1)
    return predicted


pairs = test[["user", "film"]].to_numpy()[:12_000]
wanted = test["stars"].to_numpy()[:12_000]
scores = {count: rmse(baseline[:12_000] + by_neighbours(pairs, count), wanted) for count in (5, 20, 60)}
scores


# %%
def least_squares(penalty, rank, rounds):
    """Alternating, for users and films in turn."""
    p, q = rng.normal(0, 0.1, (users, rank)), rng.normal(0, 0.1, (films, rank))
    history = []
    by_user = [np.flatnonzero(known[user]) for user in range(users)]
    by_film = [np.flatnonzero(known[:, film]) for film in range(films)]
    for _ in range(rounds):
        for user, seen in enumerate(by_user):
            part = q[seen]
            p[user] = np.linalg.solve(part.T @ part + penalty * np.eye(rank), part.T @ matrix[user, seen])
        for film, seen in enumerate(by_film):
            part = p[seen]
            q[film] = np.linalg.solve(part.T @ part + penalty * np.eye(rank), part.T @ matrix[seen, film])
        history.append(rmse(baseline + (p[test["user"]] * q[test["film"]]).sum(axis=1), test["stars"]))
    return p, q, history


models = {rank: least_squares(4.0, rank, 5) for rank in (2, 8)}
{rank: history[-1] for rank, (_, _, history) in models.items()}

# %%
for rank, (_, _, history) in models.items():
    plt.plot(history, marker="o", label=f"rank {rank}")
plt.legend()


# %%
def descend(rank, epochs, rate=0.03, penalty=0.05, batch=2000):
    p, q = rng.normal(0, 0.1, (users, rank)), rng.normal(0, 0.1, (films, rank))
    user, film, error = train["user"].to_numpy(), train["film"].to_numpy(), residual.to_numpy()
    history = []
    for _ in range(epochs):
        for chosen in np.array_split(rng.permutation(len(error)), len(error) // batch):
            u, f = user[chosen], film[chosen]
            miss = error[chosen] - (p[u] * q[f]).sum(axis=1)
            step_p, step_q = miss[:, None] * q[f] - penalty * p[u], miss[:, None] * p[u] - penalty * q[f]
            np.add.at(p, u, rate * step_p)
            np.add.at(q, f, rate * step_q)
        history.append(rmse(baseline + (p[test["user"]] * q[test["film"]]).sum(axis=1), test["stars"]))
    return history


curve = descend(8, 15)
plt.plot(curve)
curve[-1]

# %%
p, q, _ = models[8]
scores_of_all = mean + film_bias + user_bias[:, None] + p @ q.T
scores_of_all[known] = -np.inf
best = np.argsort(-scores_of_all, axis=1)[:, :10]
recommended = {user: titles.iloc[best[user]].tolist() for user in range(users)}
recommended[0][:3]

# %%
liked = test[test["stars"] >= 4.5].groupby("user")["film"].agg(set)
hits = [len(films_liked & set(best[user])) / len(films_liked) for user, films_liked in liked.items()]
by_popularity = set(train["film"].value_counts().index[:10])
float(np.mean(hits)), float(np.mean([len(one & by_popularity) / len(one) for one in liked]))

# %%
u, s, vt = np.linalg.svd(matrix[:800], full_matrices=False)
plt.semilogy(s[:100])
