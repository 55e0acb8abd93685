"""A perceptron as in the first lecture: a class, a training loop, a curve."""

# %%
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)


# %%
class Perceptron:
    def __init__(self, size):
        self.weights = np.zeros(size + 1)
        self.mistakes = []

    def predict(self, x):
        return np.where(x @ self.weights[1:] + self.weights[0] >= 0, 1, -1)

    def epoch(self, x, y):
        wrong = 0
        for row, label in zip(x, y, strict=True):
            if self.predict(row) != label:
                self.weights[1:] += label * row
                self.weights[0] += label
                wrong += 1
        self.mistakes.append(wrong)
        return wrong


# %%
x = rng.normal(size=(300, 2))
y = np.where(x[:, 0] - 2 * x[:, 1] + 0.3 > 0, 1, -1)
neuron = Perceptron(2)
while neuron.epoch(x, y) and len(neuron.mistakes) < 60:
    pass
len(neuron.mistakes)

# %%
best = neuron
line = -(neuron.weights[0] + neuron.weights[1] * np.array([-2, 2])) / neuron.weights[2]
figure, axes = plt.subplots()
axes.scatter(*x.T, c=y, s=5)
axes.plot([-2, 2], line)

# %%
neuron = Perceptron(2)
neuron.epoch(x, y)
best is neuron, best.mistakes[-1], neuron.mistakes
