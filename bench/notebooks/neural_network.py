"""A multilayer perceptron in numpy that reads drawn digits."""

# %%
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(10)

# %%
shapes = {
    0: ["01110", "10001", "10001", "10001", "10001", "10001", "01110"],
    1: ["00100", "01100", "00100", "00100", "00100", "00100", "01110"],
    2: ["01110", "10001", "00001", "00110", "01000", "10000", "11111"],
    3: ["11110", "00001", "00001", "01110", "00001", "00001", "11110"],
    4: ["00010", "00110", "01010", "10010", "11111", "00010", "00010"],
    5: ["11111", "10000", "11110", "00001", "00001", "10001", "01110"],
    6: ["00110", "01000", "10000", "11110", "10001", "10001", "01110"],
    7: ["11111", "00001", "00010", "00100", "01000", "01000", "01000"],
    8: ["01110", "10001", "10001", "01110", "10001", "10001", "01110"],
    9: ["01110", "10001", "10001", "01111", "00001", "00010", "01100"],
}
glyphs = np.array([[[int(dot) for dot in row] for row in shapes[digit]] for digit in range(10)], float)
large = glyphs.repeat(2, axis=1).repeat(2, axis=2)
large.shape


# %%
def draw(digits):
    """16 × 16 pictures: moved, faint and noisy."""
    pictures = rng.normal(0.1, 0.25, (len(digits), 16, 16))
    for picture, digit in zip(pictures, digits, strict=True):
        top, left = rng.integers(0, 3), rng.integers(0, 7)
        picture[top : top + 14, left : left + 10] += large[digit] * rng.uniform(0.5, 1.0)
    return pictures.reshape(len(digits), -1).astype(np.float32)


labels = rng.integers(0, 10, 24_000)
pictures = draw(labels)
figure, axes = plt.subplots(2, 8, figsize=(10, 3))
for axis, picture, digit in zip(axes.flat, pictures, labels, strict=False):
    axis.imshow(picture.reshape(16, 16), cmap="gray")
    axis.set_title(str(digit))
    axis.axis("off")

# %%
train, test = slice(0, 20_000), slice(20_000, None)
pictures = (pictures - pictures[train].mean()) / pictures[train].std()
targets = np.eye(10, dtype=np.float32)[labels]


# %%
class Layer:
    """An affine map, with momentum."""

    def __init__(self, inputs, outputs):
        self.weights = (rng.normal(size=(inputs, outputs)) * np.sqrt(2 / inputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)
        self.speed = [np.zeros_like(self.weights), np.zeros_like(self.bias)]

    def forward(self, inputs):
        self.inputs = inputs
        return inputs @ self.weights + self.bias

    def backward(self, gradient, rate):
        back = gradient @ self.weights.T
        slopes = [self.inputs.T @ gradient, gradient.sum(axis=0)]
        for parameter, speed, slope in zip([self.weights, self.bias], self.speed, slopes, strict=True):
            speed *= 0.9
            speed -= rate * slope
            parameter += speed
        return back


class Network:
    def __init__(self, *sizes):
        self.layers = [Layer(a, b) for a, b in pairwise(sizes)]

    def forward(self, values):
        self.masks = []
        for layer in self.layers[:-1]:
            values = layer.forward(values)
            self.masks.append(values > 0)
            values = values * self.masks[-1]
        values = self.layers[-1].forward(values)
        values = np.exp(values - values.max(axis=1, keepdims=True))
        return values / values.sum(axis=1, keepdims=True)

    def step(self, values, wanted, rate):
        found = self.forward(values)
        gradient = (found - wanted) / len(values)
        for place in range(len(self.layers) - 1, -1, -1):
            gradient = self.layers[place].backward(gradient, rate)
            if place:
                gradient = gradient * self.masks[place - 1]
        return float(-np.log((found * wanted).sum(axis=1) + 1e-9).mean())


network = Network(256, 128, 64, 10)
sum(layer.weights.size + layer.bias.size for layer in network.layers)


# %%
def accuracy(network, part):
    return float((network.forward(pictures[part]).argmax(axis=1) == labels[part]).mean())


def fit(network, epochs, rate, batch=64):
    losses, scores = [], []
    for _ in range(epochs):
        order = rng.permutation(20_000)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            losses.append(network.step(pictures[chosen], targets[chosen], rate))
        scores.append(accuracy(network, test))
    return losses, scores


losses, scores = fit(network, 5, 0.03)
scores

# %%
plt.plot(losses, lw=0.3)
plt.plot(np.convolve(losses, np.ones(50) / 50, mode="valid"))

# %%
sizes = {hidden: Network(256, hidden, 10) for hidden in (8, 32)}
results = {hidden: fit(candidate, 3, 0.03)[1][-1] for hidden, candidate in sizes.items()}
results

# %%
found = network.forward(pictures[test]).argmax(axis=1)
confusion = np.zeros((10, 10), int)
np.add.at(confusion, (labels[test], found), 1)
confusion

# %%
plt.imshow(np.log1p(confusion), cmap="Blues")
plt.xlabel("found")
plt.ylabel("drawn")

# %%
probabilities = network.forward(pictures[test])
sure = probabilities.max(axis=1)
wrong = np.flatnonzero(found != labels[test])
worst = wrong[np.argsort(-sure[wrong])][:8]
[(int(labels[test][at]), int(found[at]), round(float(sure[at]), 2)) for at in worst]

# %%
figure, axes = plt.subplots(4, 8, figsize=(8, 4))
for axis, column in zip(axes.flat, network.layers[0].weights.T, strict=False):
    axis.imshow(column.reshape(16, 16), cmap="RdBu")
    axis.axis("off")

# %%
losses, scores = fit(network, 4, 0.005)
scores
