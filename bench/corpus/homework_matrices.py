"""Linear algebra homework: shapes that do not fit, a transpose that is only a view."""

# %%
import numpy as np

A = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
b = np.array([[1.0, 2.0, 3.0]])

# %% raises ValueError
x = np.linalg.solve(A, b)

# %%
column = b.T
x = np.linalg.solve(A, column)
x.ravel()

# %% raises ValueError
check = A @ b

# %%
check = A @ x
np.allclose(check, column)

# %%
column[0] = 10
b, check.ravel()

# %%
diagonal = np.diagonal(A)
upper = A[:2, 1:]
upper *= 2
A

# %% raises ValueError
diagonal[0] = 5

# %%
steps = []
vector = np.ones(3)
for _ in range(25):
    vector = A @ vector
    vector /= np.linalg.norm(vector)
    steps.append(vector)
eigenvalue = vector @ A @ vector
abs(steps[-1] - steps[-2]).max()
