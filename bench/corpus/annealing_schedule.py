"""A timetable by annealing: minutes of search in small, a short answer."""

# %%
import math
import random

dice = random.Random(99)
rooms, slots = 4, 10
courses = [frozenset(dice.sample(range(60), dice.randint(8, 20))) for _ in range(36)]

# %%
clashes = [[len(a & b) for b in courses] for a in courses]


def cost(plan):
    total = 0
    for one in range(len(plan)):
        for other in range(one):
            if plan[one][0] == plan[other][0]:
                total += clashes[one][other] + 100 * (plan[one] == plan[other])
    return total


plan = [(n % slots, n // slots % rooms) for n in range(len(courses))]
cost(plan)

# %%
now, best, heat = cost(plan), (cost(plan), list(plan)), 30.0
trace = []
for step in range(120_000):
    n, old = dice.randrange(len(plan)), None
    old, plan[n] = plan[n], (dice.randrange(slots), dice.randrange(rooms))
    after = cost(plan)
    if after <= now or dice.random() < math.exp((now - after) / heat):
        now = after
        if now < best[0]:
            best = now, list(plan)
    else:
        plan[n] = old
    heat *= 0.99995
    if step % 5000 == 0:
        trace.append(now)
best[0]

# %%
timetable = {}
for course, (slot, room) in enumerate(best[1]):
    timetable.setdefault(slot, {})[room] = course
trace, len(timetable)
