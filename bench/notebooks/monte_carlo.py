"""Chance as a tool: pi, options, risk, waiting times, the bootstrap."""

# %%
import math
import random
import statistics

import matplotlib.pyplot as plt
import numpy as np

generator = np.random.default_rng(2024)
random.seed(2024)


# %%
def estimate_pi(points):
    x, y = generator.random(points), generator.random(points)
    return 4 * float(np.mean(x * x + y * y < 1))


estimates = [estimate_pi(1_000_000) for _ in range(40)]
statistics.mean(estimates), statistics.stdev(estimates)

# %%
sizes = [10**power for power in range(2, 8)]
errors = [abs(estimate_pi(size) - math.pi) for size in sizes]
plt.loglog(sizes, errors, marker="o")
plt.loglog(sizes, [1 / math.sqrt(size) for size in sizes], ls="--")


# %%
def black_scholes(spot, strike, rate, volatility, years):
    d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * math.sqrt(years))
    d2 = d1 - volatility * math.sqrt(years)
    normal = statistics.NormalDist()
    return spot * normal.cdf(d1) - strike * math.exp(-rate * years) * normal.cdf(d2)


exact = black_scholes(100, 105, 0.03, 0.25, 1.0)
exact

# %%
shocks = generator.standard_normal(3_000_000)
terminal = 100 * np.exp((0.03 - 0.25**2 / 2) + 0.25 * shocks)
payoff = np.exp(-0.03) * np.maximum(terminal - 105, 0)
float(payoff.mean()), float(payoff.std() / math.sqrt(len(payoff)))

# %%
mirrored = 100 * np.exp((0.03 - 0.25**2 / 2) - 0.25 * shocks)
antithetic = (payoff + np.exp(-0.03) * np.maximum(mirrored - 105, 0)) / 2
float(antithetic.mean() - exact), float(antithetic.std() / payoff.std())

# %%
steps, paths = 252, 20_000
increments = generator.standard_normal((steps, paths)) * 0.25 * math.sqrt(1 / steps)
walks = 100 * np.exp(np.cumsum(increments + (0.03 - 0.25**2 / 2) / steps, axis=0))
asian = float(np.exp(-0.03) * np.maximum(walks.mean(axis=0) - 105, 0).mean())
barrier = float(np.exp(-0.03) * np.where(walks.max(axis=0) < 130, np.maximum(walks[-1] - 105, 0), 0).mean())
asian, barrier

# %%
plt.plot(walks[:, :60], lw=0.5)
plt.axhline(105, color="black")

# %%
names = ["shares", "bonds", "gold", "property"]
drift = np.array([0.07, 0.02, 0.03, 0.05])
deviation = np.array([0.18, 0.05, 0.15, 0.12])
correlation = np.array([[1, 0.1, 0.0, 0.5], [0.1, 1, 0.2, 0.1], [0, 0.2, 1, 0.1], [0.5, 0.1, 0.1, 1]])
factor = np.linalg.cholesky(correlation * np.outer(deviation, deviation))
returns = drift + generator.standard_normal((1_000_000, 4)) @ factor.T
dict(zip(names, returns.mean(axis=0).round(4).tolist(), strict=True))

# %%
portfolio = returns @ np.array([0.5, 0.3, 0.1, 0.1])
value_at_risk = float(-np.quantile(portfolio, 0.05))
shortfall = float(-portfolio[portfolio < -value_at_risk].mean())
plt.hist(portfolio, bins=200)
plt.axvline(-value_at_risk, color="red")
value_at_risk, shortfall


# %%
def coupons(kinds):
    """Boxes to open until each kind of coupon has come."""
    seen, opened = set(), 0
    while len(seen) < kinds:
        seen.add(random.randrange(kinds))
        opened += 1
    return opened


trials = [coupons(50) for _ in range(6000)]
statistics.mean(trials), 50 * sum(1 / k for k in range(1, 51))


# %%
def gambler(capital, goal, chance):
    plays = 0
    while 0 < capital < goal:
        capital += 1 if random.random() < chance else -1
        plays += 1
    return capital == goal, plays


outcomes = [gambler(10, 30, 0.49) for _ in range(5000)]
sum(won for won, _ in outcomes) / len(outcomes), statistics.mean(plays for _, plays in outcomes)

# %%
sample = generator.lognormal(0, 1, 400)
medians = np.median(generator.choice(sample, (20_000, len(sample))), axis=1)
plt.hist(medians, bins=100)
np.percentile(medians, [2.5, 97.5]).round(3)


# %%
def metropolis(log_density, start, width, count):
    chain = np.empty(count)
    value, density = start, log_density(start)
    accepted = 0
    for at in range(count):
        proposal = value + random.gauss(0, width)
        proposed = log_density(proposal)
        if math.log(random.random()) < proposed - density:
            value, density = proposal, proposed
            accepted += 1
        chain[at] = value
    return chain, accepted / count


def two_hills(x):
    return math.log(0.3 * math.exp(-((x + 2) ** 2)) + 0.7 * math.exp(-((x - 2) ** 2) / 2) + 1e-300)


chains = {width: metropolis(two_hills, 0.0, width, 200_000) for width in (0.2, 1.0, 5.0)}
{width: (float(chain.mean()), rate) for width, (chain, rate) in chains.items()}

# %%
figure, axes = plt.subplots(3, 2, figsize=(10, 7))
for row, (chain, _) in zip(axes, chains.values(), strict=True):
    row[0].plot(chain[:4000], lw=0.4)
    row[1].hist(chain, bins=120)
