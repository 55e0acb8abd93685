"""Generators chained into a stream that is read a part at a time; the rest waits."""

# %%
import itertools
import re

line_format = re.compile(r"(?P<level>\w+) (?P<ms>\d+) (?P<path>\S+)")


# %%
def lines(count):
    for n in range(count):
        level = ("INFO", "INFO", "WARN", "INFO", "ERROR")[n * n % 5]
        yield f"{level} {(n * 7919) % 500} /page/{n % 13}"


def parsed(source):
    for line in source:
        found = line_format.match(line)
        if found:
            yield found["level"], int(found["ms"]), found["path"]


def slow(records, limit):
    seen = 0
    for record in records:
        seen += 1
        if record[1] > limit:
            yield seen, record


# %%
source = lines(20_000)
records = parsed(source)
stream = slow(records, 480)

# %%
first = list(itertools.islice(stream, 10))
first[-1]

# %%
paths = [record[2] for _, record in first]
paths

# %%
more = next(stream)
more
