"""A pipeline of transformers for a table with numbers and categories, and a search for its settings."""

# differs

# %%
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rng = np.random.default_rng(77)

# %%
n = 1500
table = pd.DataFrame({"income": rng.lognormal(10, 0.5, n), "age": rng.integers(18, 90, n).astype(float)})
table["region"] = rng.choice(["a", "b", "c", "d"], n)
table.loc[rng.random(n) < 0.1, "age"] = np.nan
bought = (np.log(table["income"]) + (table["region"] == "b") + rng.normal(0, 0.6, n) > 10.4).astype(int)
bought.mean()

# %%
numbers = Pipeline([("fill", SimpleImputer(strategy="median")), ("scale", StandardScaler())])
columns = ColumnTransformer([("n", numbers, ["income", "age"]), ("c", OneHotEncoder(), ["region"])])
pipeline = Pipeline([("columns", columns), ("model", LogisticRegression(max_iter=500))])
pipeline.fit(table, bought).score(table, bought)

# %%
search = GridSearchCV(pipeline, {"model__C": [0.01, 0.1, 1, 10]}, cv=4)
search.fit(table, bought)
search.best_params_, round(search.best_score_, 3)

# %%
best = search.best_estimator_
model = best.named_steps["model"]
names = best.named_steps["columns"].get_feature_names_out()
weights = pd.Series(model.coef_[0], index=names)
weights.round(2)

# %%
table["chance"] = best.predict_proba(table)[:, 1]
table.nlargest(5, "chance")
