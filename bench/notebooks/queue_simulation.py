"""A bank branch, event by event: queues, servers, breakdowns, and what a second counter is worth."""

# %%
import heapq
import itertools
import math
import random
import statistics
from dataclasses import dataclass, field

import matplotlib.pyplot as plt
import pandas as pd


# %%
@dataclass
class Customer:
    """What happened to one visitor; minutes since opening."""

    number: int
    kind: str
    arrived: float
    began: float = math.nan
    left: float = math.nan
    gave_up: bool = False

    @property
    def waited(self):
        return self.began - self.arrived


@dataclass
class Counter:
    name: str
    kinds: tuple
    busy_until: float = 0.0
    served: int = 0
    worked: float = 0.0


# %%
@dataclass
class Branch:
    """Events in time order; a customer takes the first counter that serves his kind."""

    counters: list
    rate: float
    patience: float
    random: random.Random
    minutes: float = 480
    now: float = 0.0
    events: list = field(default_factory=list)
    waiting: list = field(default_factory=list)
    customers: list = field(default_factory=list)
    lengths: list = field(default_factory=list)
    ticket: object = field(default_factory=itertools.count)

    def at(self, when, what, *details):
        heapq.heappush(self.events, (when, next(self.ticket), what, details))

    def run(self):
        self.at(self.random.expovariate(self.rate), self.arrive)
        while self.events:
            self.now, _, what, details = heapq.heappop(self.events)
            what(*details)
            self.lengths.append((self.now, len(self.waiting)))
        return self

    def arrive(self):
        kind = self.random.choices(["cash", "advice", "parcel"], [6, 1, 3])[0]
        customer = Customer(len(self.customers), kind, self.now)
        self.customers.append(customer)
        self.waiting.append(customer)
        self.at(self.now + self.random.expovariate(1 / self.patience), self.give_up, customer)
        next_one = self.now + self.random.expovariate(self.rate * (1 + 0.6 * math.sin(self.now / 80)))
        if next_one < self.minutes:
            self.at(next_one, self.arrive)
        self.serve()

    def give_up(self, customer):
        if customer in self.waiting:
            customer.gave_up = True
            self.waiting.remove(customer)

    def serve(self):
        for counter in self.counters:
            if counter.busy_until > self.now:
                continue
            for customer in self.waiting:
                if customer.kind in counter.kinds:
                    self.waiting.remove(customer)
                    self.begin(counter, customer)
                    break

    def begin(self, counter, customer):
        mean = {"cash": 2.5, "advice": 14, "parcel": 4}[customer.kind]
        minutes = self.random.gammavariate(2, mean / 2)
        customer.began, customer.left = self.now, self.now + minutes
        counter.busy_until = customer.left
        counter.served += 1
        counter.worked += minutes
        self.at(customer.left, self.serve)


def branch(seed, counters=3, rate=1.1):
    every = ("cash", "parcel", "advice")
    desks = [Counter(f"counter {n}", every if n == 0 else every[:2]) for n in range(counters)]
    return Branch(desks, rate, 12, random.Random(seed)).run()


day = branch(1)
len(day.customers), [counter.served for counter in day.counters]

# %%
table = pd.DataFrame([vars(customer) for customer in day.customers])
table["waited"] = table["began"] - table["arrived"]
table.groupby("kind")["waited"].describe()

# %%
plt.step(*zip(*day.lengths, strict=True))
plt.xlabel("minutes since opening")
plt.ylabel("in the queue")

# %%
days = [branch(seed) for seed in range(250)]
waits = [customer.waited for one in days for customer in one.customers if not customer.gave_up]
lost = sum(customer.gave_up for one in days for customer in one.customers)
statistics.mean(waits), statistics.quantiles(waits, n=20)[-1], lost / sum(len(one.customers) for one in days)

# %%
plt.hist(waits, bins=100, log=True)

# %%
rows = []
for counters in (2, 3, 4, 5):
    for seed in range(60):
        one = branch(seed, counters)
        stayed = [customer.waited for customer in one.customers if not customer.gave_up]
        used = sum(counter.worked for counter in one.counters) / (480 * counters)
        rows.append((counters, statistics.mean(stayed), used, sum(c.gave_up for c in one.customers)))
staffing = pd.DataFrame(rows, columns=["counters", "wait", "used", "lost"])
staffing.groupby("counters").agg(["mean", "std"]).round(2)

# %%
cost = staffing.assign(cost=staffing["counters"] * 8 * 40 + staffing["lost"] * 25)
cost.groupby("counters")["cost"].mean()

# %%
arrivals = {
    rate: [statistics.mean(length for _, length in branch(seed, 3, rate).lengths) for seed in range(25)]
    for rate in (0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
}
plt.boxplot(arrivals.values(), tick_labels=list(arrivals))


# %%
def mm1(arrival, service, customers, seed):
    """One server, no patience: the textbook's queue."""
    source = random.Random(seed)
    clock = free = total = 0.0
    for _ in range(customers):
        clock += source.expovariate(arrival)
        begin = max(clock, free)
        total += begin - clock
        free = begin + source.expovariate(service)
    return total / customers


theory = {load: load / (1 - load) for load in (0.3, 0.5, 0.7, 0.8, 0.9)}
measured = {load: statistics.mean(mm1(load, 1.0, 60_000, seed) for seed in range(8)) for load in theory}
{load: (round(theory[load], 2), round(measured[load], 2)) for load in theory}

# %%
groups = pd.concat(
    [pd.DataFrame([vars(customer) for customer in one.customers]).assign(day=number) for number, one in enumerate(days)]
)
groups["hour"] = (groups["arrived"] // 60).astype(int)
groups.groupby("hour").agg(customers=("number", "count"), lost=("gave_up", "mean"))
