"""Coroutines: what was gathered, and a generator that takes values and is asked again later."""

# %%
import asyncio


async def measure(sensor, count):
    found = []
    for n in range(count):
        await asyncio.sleep(0)
        found.append((sensor * 31 + n * 17) % 101)
    return sensor, found


# %%
gathered = dict(await asyncio.gather(*(measure(sensor, 20) for sensor in range(4))))
{sensor: max(values) for sensor, values in gathered.items()}


# %%
def average():
    total, count, value = 0.0, 0, None
    while True:
        value = yield total / count if count else None
        total, count = total + value, count + 1


running = average()
next(running)

# %%
means = [running.send(value) for value in gathered[2]]
round(means[-1], 2)

# %%
history = {"means": means, "running": running}
history["running"].send(1000.0)
