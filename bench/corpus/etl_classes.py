"""Extract, transform, load: steps as classes with a base class, run in order, with a report."""

# %%
import abc
import csv
import dataclasses
import io
import time

# %%
raw = "id;amount;currency\n" + "\n".join(
    f"{n};{(n * 37) % 991 / 7:.2f};{'CHF EUR USD ???'.split()[n % 4]}" for n in range(5000)
)
raw[:60]


# %%
class Step(abc.ABC):
    ran = 0

    @abc.abstractmethod
    def apply(self, rows): ...

    def __call__(self, rows):
        Step.ran += 1
        return list(self.apply(rows))


@dataclasses.dataclass
class Convert(Step):
    rates: dict

    def apply(self, rows):
        for row in rows:
            yield {**row, "chf": round(float(row["amount"]) * self.rates[row["currency"]], 2)}


class Reject(Step):
    def __init__(self, test, sink):
        self.test, self.sink = test, sink

    def apply(self, rows):
        for row in rows:
            if self.test(row):
                self.sink.append(row["id"])
            else:
                yield row


# %%
rates = {"CHF": 1.0, "EUR": 0.95, "USD": 0.88}
rejected = []
steps = [Reject(lambda row: row["currency"] not in rates, rejected), Convert(rates)]

# %%
rows = list(csv.DictReader(io.StringIO(raw), delimiter=";"))
began = time.monotonic()
for step in steps:
    rows = step(rows)
print(f"{len(rows)} rows in {time.monotonic() - began:.1f} s")
del began

# %%
totals = {}
for row in rows:
    totals[row["currency"]] = round(totals.get(row["currency"], 0) + row["chf"], 2)
totals, len(rejected), Step.ran
