"""Pi by chance: many numbers are drawn, one table remains."""

# %%
import math
import random

import pandas as pd

random.seed(314)

# %%
estimates = []
inside = tried = 0
for _ in range(70):
    for _ in range(150_000):
        inside += random.random() ** 2 + random.random() ** 2 <= 1
    tried += 150_000
    estimates.append((tried, 4 * inside / tried))

# %%
table = pd.DataFrame(estimates, columns=["tried", "estimate"])
table["error"] = (table["estimate"] - math.pi).abs()
table.tail(3)

# %%
needles = 0
for _ in range(300_000):
    needles += random.uniform(0, 0.5) <= 0.5 * math.sin(random.uniform(0, math.pi / 2))
buffon = 300_000 / needles * 1.0
table.loc[len(table)] = (300_000, buffon * 1.0, abs(buffon - math.pi))
len(table)
