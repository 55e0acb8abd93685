"""The bundled wine data: scaling, principal axes by hand, and the same by the library."""

# %%
import numpy as np
import pandas as pd
import seaborn as sns
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

# %%
wine = load_wine()
table = pd.DataFrame(wine.data, columns=wine.feature_names)
table.describe().T[["mean", "std"]].head()

# %%
scaled = (table - table.mean()) / table.std(ddof=0)
values, vectors = np.linalg.eigh(np.cov(scaled.to_numpy(), rowvar=False))
order = values.argsort()[::-1]
values, vectors = values[order], vectors[:, order]
(values / values.sum()).round(3)[:4]

# %%
by_hand = scaled.to_numpy() @ vectors[:, :2]
scaler = StandardScaler()
pca = PCA(2).fit(scaler.fit_transform(table))
by_library = pca.transform(scaler.transform(table))
np.abs(np.abs(by_hand) - np.abs(by_library)).max() < 1e-8

# %%
points = pd.DataFrame(by_library, columns=["one", "two"])
points["region"] = wine.target
plot = sns.scatterplot(points, x="one", y="two", hue="region", palette="deep")

# %%
loadings = pd.Series(pca.components_[0], index=wine.feature_names).sort_values()
loadings.round(2)
