"""A stack of pictures, filtered: large in between, small at the end."""

# %%
import numpy as np

rng = np.random.default_rng(41)
frames = np.clip(rng.normal(120, 30, (60, 400, 400)), 0, 255).astype(np.uint8)
frames.nbytes

# %%
background = np.median(frames[::4], axis=0).astype(np.uint8)
difference = np.abs(frames.astype(np.int16) - background)
moving = (difference > 60).mean(axis=(1, 2))
moving.round(4)[:4]

# %%
del difference
bright = frames[frames.mean(axis=(1, 2)).argmax()]
bright[100:300, 100:300] //= 2
frames.mean().round(2)

# %%
thumbnails = frames[:, ::20, ::20]
contact = np.concatenate(list(thumbnails[:10]), axis=1)
contact.shape
