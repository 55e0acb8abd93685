"""Plots that are kept and drawn on later: figures, axes, lines under names of their own."""

# %%
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 4 * np.pi, 400)

# %%
figure, (top, bottom) = plt.subplots(2, 1, figsize=(6, 4), sharex=True)
(wave,) = top.plot(x, np.sin(x), label="sine")
top.legend()

# %%
bottom.fill_between(x, np.exp(-x / 6) * np.cos(3 * x), alpha=0.4)
bottom.set_xlabel("time")

# %%
wave.set_ydata(np.sin(x) * np.exp(-x / 10))
wave.set_color("darkred")
figure

# %%
heat = plt.figure(figsize=(4, 3))
board = heat.add_subplot()
image = board.imshow(np.outer(np.sin(x[::8]), np.cos(x[::8])), cmap="viridis")
heat.colorbar(image)

# %%
axes_by_name = {"wave": top, "decay": bottom, "heat": board}
for name, axes in axes_by_name.items():
    axes.set_title(name)
