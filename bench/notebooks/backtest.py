"""Trading rules on made-up prices: trends, averages, costs, and luck."""

# %%
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(66)

# %%
days = pd.bdate_range("2005-01-03", "2024-12-31")
tickers = [f"{a}{b}" for a in "ABCDEFGH" for b in "KLMNO"]
market = rng.standard_t(5, len(days)) * 0.007 + 0.0003
returns = pd.DataFrame(
    {ticker: rng.uniform(0.5, 1.5) * market + rng.standard_t(4, len(days)) * 0.009 for ticker in tickers}, index=days
)
prices = 100 * (1 + returns).cumprod()
prices.iloc[:, :6].plot(logy=True, figsize=(9, 4), lw=0.6)

# %%
summary = pd.DataFrame({"mean": returns.mean() * 252, "risk": returns.std() * 252**0.5})
summary["sharpe"] = summary["mean"] / summary["risk"]
summary.sort_values("sharpe").tail()

# %%
monthly = prices.resample("ME").last().pct_change().dropna()
monthly.corr().round(2).iloc[:5, :5]


# %%
def drawdown(values):
    return values / values.cummax() - 1


worst = prices.apply(drawdown).min().sort_values()
worst.head()


# %%
def crossing(series, fast, slow, cost=0.0005):
    """Holds the share while the fast average is above the slow one."""
    position = (series.rolling(fast).mean() > series.rolling(slow).mean()).astype(float).shift().fillna(0)
    return position * series.pct_change().fillna(0) - cost * position.diff().abs().fillna(0)


earned = pd.DataFrame({ticker: crossing(prices[ticker], 20, 100) for ticker in tickers})
figure, axes = plt.subplots(figsize=(9, 3))
(1 + earned.mean(axis=1)).cumprod().plot(ax=axes, label="rule")
(1 + returns.mean(axis=1)).cumprod().plot(ax=axes, label="hold")
axes.legend()

# %%
grid = []
for fast, slow in itertools.product((5, 10, 20, 40), (50, 100, 150, 200)):
    daily = pd.concat([crossing(prices[ticker], fast, slow) for ticker in tickers[::2]], axis=1).mean(axis=1)
    grid.append((fast, slow, daily.mean() / daily.std() * 252**0.5))
sharpe = pd.DataFrame(grid, columns=["fast", "slow", "sharpe"]).pivot(index="fast", columns="slow", values="sharpe")
sharpe.round(2)

# %%
plt.imshow(sharpe)
plt.colorbar()


# %%
def momentum(lookback, hold, top=8):
    earned, held = [], []
    for start in range(lookback, len(prices) - hold, hold):
        past = prices.iloc[start] / prices.iloc[start - lookback] - 1
        chosen = past.nlargest(top).index
        held.append(tuple(sorted(chosen)))
        earned.append(returns.iloc[start + 1 : start + hold + 1][chosen].mean(axis=1))
    return pd.concat(earned), held


tests = {(lookback, hold): momentum(lookback, hold) for lookback in (60, 250) for hold in (10, 20, 60)}
pd.Series({key: daily.mean() / daily.std() * 252**0.5 for key, (daily, _) in tests.items()}).round(2)

# %%
changes = {
    key: np.mean([len(set(a) - set(b)) for a, b in itertools.pairwise(held)]) for key, (_, held) in tests.items()
}
changes

# %%
covariance = returns.cov() * 252
weights = rng.dirichlet(np.ones(len(tickers)) * 0.15, 40_000)
expected = weights @ (returns.mean().to_numpy() * 252)
risk = np.sqrt(np.einsum("ij,jk,ik->i", weights, covariance.to_numpy(), weights, optimize=True))
plt.scatter(risk, expected, s=1, c=expected / risk)

# %%
inverse = np.linalg.inv(covariance)
minimum = pd.Series(inverse.sum(axis=1) / inverse.sum(), index=tickers)
minimum.sort_values().round(3).tail()

# %%
rolling = returns.rolling(120)
betas = rolling.cov(returns.mean(axis=1)).div(returns.mean(axis=1).rolling(120).var(), axis=0)
betas.iloc[-1].describe()

# %%
rule = earned.mean(axis=1).to_numpy()
luck = []
for _ in range(600):
    starts = rng.integers(0, len(rule) - 20, len(rule) // 20)
    sample = rule[(starts[:, None] + np.arange(20)).ravel()]
    luck.append(sample.mean() / sample.std() * 252**0.5)
plt.hist(luck, bins=60)
np.percentile(luck, [2.5, 50, 97.5]).round(2)


# %%
def stop_loss(series, limit):
    """Leaves when the price fell by `limit` from its top, comes back after 20 days."""
    held, top, away, result = True, series.iloc[0], 0, []
    for before, price in itertools.pairwise(series.to_numpy()):
        result.append(price / before - 1 if held else 0.0)
        if held:
            top = max(top, price)
            if price < top * (1 - limit):
                held, away = False, 20
        else:
            away -= 1
            if not away:
                held, top = True, price
    return np.prod(1 + np.array(result))


stops = pd.DataFrame(
    {limit: {ticker: stop_loss(prices[ticker], limit) for ticker in tickers} for limit in (0.05, 0.1, 0.2, 0.4)}
)
stops.describe().round(2)

# %%
yearly = (1 + earned).groupby(earned.index.year).prod() - 1
yearly.mean(axis=1).plot.bar(figsize=(9, 3))
