"""Views into one array: rows, windows, a transpose, a picture and its channels."""

# %%
import numpy as np

grid = np.zeros((60, 80))
top, bottom = grid[:30], grid[30:]
corner = grid[:10, :10]
flat = grid.ravel()

# %%
top += 1
corner[:] = np.arange(100).reshape(10, 10)
flat[-1] = -5
grid[0, :3], grid[-1, -1]

# %%
picture = np.zeros((32, 32, 3), dtype=np.uint8)
red, green, blue = np.moveaxis(picture, 2, 0)
red[8:24, 8:24] = 255
green[::2] = 90
picture[8, 8]

# %%
signal = np.sin(np.arange(500) / 9)
windows = np.lib.stride_tricks.sliding_window_view(signal, 50)
smooth = windows.mean(axis=1)
signal[100:110] = 0
windows[80].min()

# %%
views = {"turned": grid.T, "steps": flat[::7], "back": signal[::-1]}
views["steps"][0] = 42
alone = grid[5].copy()
grid[0, 0], alone.base is None

# %%
raw = bytearray(range(64))
numbers = np.frombuffer(raw, dtype=np.uint16)
numbers[0] = 65535
raw[:4]
