"""Motion from equations: pendulums, planets, chaos, heat and waves."""

# %%
import matplotlib.pyplot as plt
import numpy as np


# %%
def euler(f, state, step, count):
    states = [np.asarray(state, float)]
    for _ in range(count):
        states.append(states[-1] + step * f(states[-1]))
    return np.array(states)


def runge_kutta(f, state, step, count):
    states = [np.asarray(state, float)]
    for _ in range(count):
        y = states[-1]
        k1 = f(y)
        k2 = f(y + step / 2 * k1)
        k3 = f(y + step / 2 * k2)
        k4 = f(y + step * k3)
        states.append(y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return np.array(states)


def pendulum(state):
    angle, speed = state
    return np.array([speed, -9.81 * np.sin(angle)])


rough, fine = euler(pendulum, [1.0, 0.0], 0.01, 2000), runge_kutta(pendulum, [1.0, 0.0], 0.01, 2000)
plt.plot(rough[:, 0], label="Euler")
plt.plot(fine[:, 0], label="Runge-Kutta")
plt.legend()


# %%
def energy(states):
    return 0.5 * states[:, 1] ** 2 - 9.81 * np.cos(states[:, 0])


drift = {}
for step in (0.1, 0.05, 0.02, 0.01, 0.005):
    count = int(20 / step)
    drift[step] = [float(np.ptp(energy(method(pendulum, [1.0, 0.0], step, count)))) for method in (euler, runge_kutta)]
drift


# %%
def lorenz(state):
    x, y, z = state
    return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


one = runge_kutta(lorenz, [1.0, 1.0, 1.0], 0.005, 30_000)
other = runge_kutta(lorenz, [1.0, 1.0, 1.000001], 0.005, 30_000)
figure, axes = plt.subplots(1, 2, figsize=(10, 4))
axes[0].plot(one[:, 0], one[:, 2], lw=0.2)
axes[1].semilogy(np.linalg.norm(one - other, axis=1), lw=0.4)

# %%
growth = np.log(np.linalg.norm(one - other, axis=1)[200:3000])
exponent = np.polyfit(np.arange(len(growth)) * 0.005, growth, 1)[0]
float(exponent)

# %%
rng = np.random.default_rng(1)
bodies = 150
mass = rng.uniform(0.5, 2.0, bodies)
place = rng.normal(size=(bodies, 2))
speed = np.column_stack([-place[:, 1], place[:, 0]]) * 0.8


def gravity(place):
    offset = place[None] - place[:, None]
    cube = ((offset**2).sum(axis=2) + 0.05) ** 1.5
    return (offset * (mass[None, :] / cube)[..., None]).sum(axis=1) / bodies


trail = []
pull = gravity(place)
for step in range(1500):
    speed += 0.005 * pull
    place = place + 0.01 * speed
    pull = gravity(place)
    speed += 0.005 * pull
    if step % 10 == 0:
        trail.append(place)
trail = np.array(trail)
trail.shape

# %%
plt.figure(figsize=(5, 5))
for body in range(0, bodies, 10):
    plt.plot(trail[:, body, 0], trail[:, body, 1], lw=0.5)

# %%
size, steps = 220, 1500
heat = np.zeros((size, size))
heat[size // 3 : size // 2, size // 4 : size // 2] = 100
heat[60:70, :] = 50
snapshots = []
for step in range(steps):
    inner = heat[1:-1, 1:-1]
    flow = heat[2:, 1:-1] + heat[:-2, 1:-1] + heat[1:-1, 2:] + heat[1:-1, :-2] - 4 * inner
    heat[1:-1, 1:-1] = inner + 0.2 * flow
    if step % 300 == 0:
        snapshots.append(heat.copy())
float(heat.max())

# %%
figure, axes = plt.subplots(1, len(snapshots), figsize=(14, 3))
for axis, snapshot in zip(axes, snapshots, strict=True):
    axis.imshow(snapshot, cmap="hot", vmax=100)
    axis.axis("off")

# %%
width = 300
height, velocity = np.zeros((width, width)), np.zeros((width, width))
y, x = np.mgrid[0:width, 0:width]
height += 5 * np.exp(-((x - 90) ** 2 + (y - 150) ** 2) / 60)
wall = np.zeros((width, width), bool)
wall[:, 170:175] = True
wall[110:120, 170:175] = wall[180:190, 170:175] = False
for _ in range(600):
    laplace = (
        np.roll(height, 1, 0) + np.roll(height, -1, 0) + np.roll(height, 1, 1) + np.roll(height, -1, 1) - 4 * height
    )
    velocity = (velocity + 0.25 * laplace) * 0.999
    height = height + velocity
    height[wall] = 0
    height[[0, -1]] = height[:, [0, -1]] = 0
plt.imshow(height, cmap="RdBu", vmin=-0.5, vmax=0.5)


# %%
def predator_prey(state):
    hares, lynxes = state
    return np.array([1.1 * hares - 0.4 * hares * lynxes, 0.1 * hares * lynxes - 0.4 * lynxes])


for start in ([10, 5], [6, 4], [3, 3]):
    orbit = runge_kutta(predator_prey, start, 0.01, 4000)
    plt.plot(orbit[:, 0], orbit[:, 1])


# %%
def shooting(slope):
    """y'' = -exp(y), y(0) = 0; what y(1) is."""
    path = runge_kutta(lambda s: np.array([s[1], -np.exp(s[0])]), [0.0, slope], 0.001, 1000)
    return float(path[-1, 0])


low, high = 0.0, 2.0
while high - low > 1e-9:
    middle = (low + high) / 2
    low, high = (middle, high) if shooting(middle) < 0 else (low, middle)
low
