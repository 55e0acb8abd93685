"""A week of a web server's log: parsing lines, visits, errors, suspicious guests."""

# %%
import ipaddress
import random
import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise

import matplotlib.pyplot as plt
import pandas as pd

random.seed(77)

# %%
pages = ["/", "/about", "/shop", "/cart", "/checkout", "/search", "/login"] + [f"/item/{n}" for n in range(300)]
weights = [40, 5, 30, 10, 6, 15, 8] + [60 / (n + 4) for n in range(300)]
agents = [
    "Mozilla/5.0 (X11; Linux)",
    "Mozilla/5.0 (iPhone)",
    "Mozilla/5.0 (Windows NT 10.0)",
    "curl/8.5",
    "Crawler/1.2",
]
start = datetime(2025, 3, 3)


def address():
    return str(
        ipaddress.ip_address(random.choice([0x0A000000, 0xC0A80000, 0xAC100000]) + int(random.betavariate(1, 8) * 4000))
    )


lines = []
clock = start
while len(lines) < 120_000:
    rush = 1 + 0.8 * (8 < clock.hour < 20)
    clock += timedelta(seconds=random.expovariate(0.16 * rush))
    page = random.choices(pages, weights)[0]
    status = random.choices([200, 301, 304, 404, 500], [90, 2, 5, 2, 1])[0]
    lines.append(
        f'{address()} - - [{clock:%d/%b/%Y:%H:%M:%S} +0000] "GET {page} HTTP/1.1" {status} '
        f'{int(random.lognormvariate(8, 1))} "-" "{random.choices(agents, [5, 4, 6, 1, 1])[0]}"'
    )
lines[0]

# %%
pattern = re.compile(
    r'(?P<host>\S+) \S+ \S+ \[(?P<time>[^\]]+)\] "(?P<verb>\w+) (?P<path>\S+) [^"]*" '
    r'(?P<status>\d+) (?P<size>\d+) "[^"]*" "(?P<agent>[^"]*)"'
)
records = [match.groupdict() for line in lines if (match := pattern.match(line))]
len(records), records[0]

# %%
log = pd.DataFrame(records)
log["time"] = pd.to_datetime(log["time"], format="%d/%b/%Y:%H:%M:%S %z")
log = log.astype({"status": int, "size": int})
log.describe(include="all").iloc[:4]

# %%
del records
log.groupby("status").size()

# %%
by_hour = log.set_index("time").resample("h").agg({"size": "sum", "host": "nunique"})
by_hour.plot(subplots=True, figsize=(9, 4))

# %%
log["section"] = log["path"].str.extract(r"^/(\w*)", expand=False).replace("", "home")
log.groupby("section").agg(hits=("path", "size"), bytes=("size", "sum"), hosts=("host", "nunique"))

# %%
errors = log[log["status"] >= 400]
rate = errors.groupby("path").size() / log.groupby("path").size()
rate.dropna().nlargest(8)

# %%
log["family"] = log["agent"].map(lambda agent: "robot" if not agent.startswith("Mozilla") else agent.split("(")[1][:-1])
log["family"].value_counts(normalize=True).round(3)

# %%
ordered = log.sort_values(["host", "time"])
pause = ordered.groupby("host")["time"].diff() > pd.Timedelta(minutes=30)
ordered["visit"] = pause.cumsum() + ordered["host"].ne(ordered["host"].shift()).cumsum()
visits = ordered.groupby("visit").agg(
    host=("host", "first"), begin=("time", "min"), end=("time", "max"), hits=("path", "size"), first=("path", "first")
)
visits["minutes"] = (visits["end"] - visits["begin"]).dt.total_seconds() / 60
visits[["hits", "minutes"]].describe()

# %%
plt.hist(visits["minutes"].clip(upper=200), bins=80, log=True)

# %%
steps = Counter()
for paths in ordered.groupby("visit")["section"].agg(list):
    steps.update(pairwise(paths))
steps.most_common(10)

# %%
transitions = defaultdict(Counter)
for (a, b), count in steps.items():
    transitions[a][b] += count
chances = pd.DataFrame(transitions).fillna(0)
(chances / chances.sum()).round(2)

# %%
funnel = {}
visited = ordered.groupby("visit")["section"].agg(set)
reached = pd.Series(True, index=visited.index)
for stage in ("home", "shop", "item", "cart", "checkout"):
    reached &= visited.map(lambda sections, stage=stage: stage in sections)
    funnel[stage] = int(reached.sum())
funnel

# %%
per_minute = log.groupby(["host", log["time"].dt.floor("min")]).size()
suspects = per_minute[per_minute > 6].groupby("host").size().nlargest(10)
networks = Counter(str(ipaddress.ip_network(f"{host}/24", strict=False)) for host in log["host"])
suspects, networks.most_common(3)

# %%
weekday = log.pivot_table(index=log["time"].dt.day_name(), columns=log["time"].dt.hour, values="size", aggfunc="count")
plt.imshow(weekday.fillna(0))
