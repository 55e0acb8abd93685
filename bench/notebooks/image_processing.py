"""Pictures as arrays: noise, edges, segments, compression."""

# %%
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(8)

# %%
height, width = 900, 1200
y, x = np.mgrid[0:height, 0:width]
scene = np.zeros((height, width, 3))
scene[..., 2] = 0.4 + 0.5 * (1 - y / height)
for _ in range(60):
    cy, cx, radius = rng.integers(0, height), rng.integers(0, width), rng.integers(20, 110)
    inside = (y - cy) ** 2 + (x - cx) ** 2 < radius**2
    scene[inside] = rng.random(3)
plt.imshow(scene)

# %%
noisy = np.clip(scene + rng.normal(0, 0.15, scene.shape), 0, 1)
grey = noisy @ np.array([0.299, 0.587, 0.114])
plt.imshow(grey, cmap="gray")


# %%
def convolve(image, kernel):
    """Same size, edges repeated."""
    rows, columns = kernel.shape
    padded = np.pad(image, ((rows // 2, rows // 2), (columns // 2, columns // 2)), mode="edge")
    result = np.zeros_like(image)
    for row in range(rows):
        for column in range(columns):
            result += kernel[row, column] * padded[row : row + image.shape[0], column : column + image.shape[1]]
    return result


def gaussian(sigma):
    radius = int(3 * sigma)
    axis = np.arange(-radius, radius + 1)
    line = np.exp(-(axis**2) / (2 * sigma**2))
    return np.outer(line, line) / line.sum() ** 2


smooth = convolve(grey, gaussian(2.0))
figure, axes = plt.subplots(1, 2, figsize=(10, 4))
axes[0].imshow(grey[:300, :300], cmap="gray")
axes[1].imshow(smooth[:300, :300], cmap="gray")

# %%
sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
horizontal, vertical = convolve(smooth, sobel), convolve(smooth, sobel.T)
magnitude, direction = np.hypot(horizontal, vertical), np.arctan2(vertical, horizontal)
plt.imshow(magnitude, cmap="magma")


# %%
def median_filter(image, size):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, size // 2, mode="edge"), (size, size))
    result = np.empty_like(image)
    for row in range(image.shape[0]):
        result[row] = np.median(windows[row], axis=(-2, -1))
    return result


median = median_filter(grey, 5)
clean = scene @ np.array([0.299, 0.587, 0.114])
float(np.abs(grey - clean).mean()), float(np.abs(smooth - clean).mean()), float(np.abs(median - clean).mean())

# %%
levels = (median * 255).astype(np.uint8)
histogram = np.bincount(levels.ravel(), minlength=256)
cumulative = histogram.cumsum() / levels.size
equalised = (cumulative[levels] * 255).astype(np.uint8)
figure, axes = plt.subplots(1, 2, figsize=(10, 3))
axes[0].bar(range(256), histogram)
axes[1].imshow(equalised, cmap="gray")


# %%
def otsu(histogram):
    total = histogram.sum()
    weights = histogram.cumsum()
    means = (histogram * np.arange(256)).cumsum()
    with np.errstate(all="ignore"):
        between = (means[-1] * weights - means * total) ** 2 / (weights * (total - weights))
    return int(np.nanargmax(between))


threshold = otsu(histogram)
mask = levels > threshold
threshold, float(mask.mean())


# %%
def label(mask):
    """Connected components, four neighbours."""
    labels = np.zeros(mask.shape, int)
    current = 0
    for row, column in zip(*np.nonzero(mask), strict=True):
        if labels[row, column]:
            continue
        current += 1
        labels[row, column] = current
        stack = [(row, column)]
        while stack:
            r, c = stack.pop()
            for nr, nc in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                if 0 <= nr < mask.shape[0] and 0 <= nc < mask.shape[1] and mask[nr, nc] and not labels[nr, nc]:
                    labels[nr, nc] = current
                    stack.append((nr, nc))
    return labels, current


labels, count = label(mask[::2, ::2])
areas = np.bincount(labels.ravel())[1:]
count, sorted(areas.tolist())[-5:]


# %%
def quantise(pixels, colours, rounds):
    centres = pixels[rng.choice(len(pixels), colours, replace=False)]
    for _ in range(rounds):
        distances = ((pixels[:, None, :] - centres[None]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        for colour in range(colours):
            members = pixels[nearest == colour]
            if len(members):
                centres[colour] = members.mean(axis=0)
    return centres, nearest


pixels = noisy[::2, ::2].reshape(-1, 3)
palette, nearest = quantise(pixels, 12, 15)
posterised = palette[nearest].reshape(height // 2, width // 2, 3)
plt.imshow(posterised)

# %%
spectrum = np.fft.fftshift(np.fft.fft2(grey))
radius = np.hypot(y - height / 2, x - width / 2)
kept = {cut: np.fft.ifft2(np.fft.ifftshift(spectrum * (radius < cut))).real for cut in (20, 60, 150)}
{cut: float(np.abs(image - clean).mean()) for cut, image in kept.items()}

# %%
u, s, v = np.linalg.svd(clean, full_matrices=False)
ranks = (5, 20, 80)
approximations = [(u[:, :rank] * s[:rank]) @ v[:rank] for rank in ranks]
figure, axes = plt.subplots(1, 3, figsize=(12, 3))
for axis, rank, image in zip(axes, ranks, approximations, strict=True):
    axis.imshow(image, cmap="gray")
    axis.set_title(f"rank {rank}")
