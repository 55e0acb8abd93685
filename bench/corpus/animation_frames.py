"""Frames of an animation: a bouncing ball, drawn into pictures that are arrays."""

# %%
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

# %%
height, speed, step = 2.0, 0.0, 0.05
path = []
for _ in range(80):
    speed -= 9.81 * step
    height += speed * step
    if height < 0:
        height, speed = -height, -0.8 * speed
    path.append(height)
len(path), max(path)


# %%
def picture(height):
    figure = plt.Figure(figsize=(1.2, 2), dpi=60)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-1, 1), ylim=(0, 2.2))
    axes.plot(0, height, "o", ms=14)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


frames = [picture(height) for height in path[::4]]
frames[0].shape

# %%
film = np.stack(frames)
motion = np.abs(np.diff(film.astype(np.int16), axis=0)).sum(axis=(1, 2, 3))
motion

# %%
strip = np.concatenate(frames[:6], axis=1)
plt.imshow(strip)
plt.axis("off")
