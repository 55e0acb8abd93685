"""A class that is edited and run again while objects of the old one are still around."""

# order: 1 2 3 1 4 3 5

# %%
version = globals().get("version", 0) + 1


class Task:
    number = version

    def __init__(self, name, hours):
        self.name, self.hours, self.after = name, hours, []

    def total(self):
        return self.hours + sum(task.total() for task in self.after)


# %%
plan = Task("plan", 4)
build = Task("build", 20)
plan.after.append(build)

# %%
ship = Task("ship", 2)
build.after.append(ship)
plan.total()

# %%
kinds = {type(task) for task in (plan, build, ship)}
len(kinds), isinstance(plan, Task)

# %%
plan.number, ship.number, type(build) is type(plan)
