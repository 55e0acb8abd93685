"""Tips in a restaurant, made up, drawn with seaborn."""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

sns.set_theme(style="whitegrid")
rng = np.random.default_rng(5)

# %%
bill = rng.gamma(4, 5, 240).round(2)
tips = pd.DataFrame({"bill": bill, "tip": (bill * rng.normal(0.16, 0.04, 240)).clip(0.5).round(2)})
tips["day"] = pd.Categorical(rng.choice(["Thu", "Fri", "Sat", "Sun"], 240), ["Thu", "Fri", "Sat", "Sun"])
tips["smoker"] = rng.random(240) < 0.35
tips.head(3)

# %%
grid = sns.FacetGrid(tips, col="day", height=2)
grid.map(plt.scatter, "bill", "tip", s=6)

# %%
box = sns.boxplot(tips, x="day", y="tip", hue="smoker")
box.set_ylim(0, 10)

# %%
rate = (tips["tip"] / tips["bill"]).groupby([tips["day"], tips["smoker"]], observed=True).mean().unstack()
rate.round(3)
