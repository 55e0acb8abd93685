"""Records of many sorts: named tuples, typed dictionaries, slots, decimals, dates, sets of frozen sets."""

# %%
import datetime as dt
import uuid
from collections import ChainMap, OrderedDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

Part = namedtuple("Part", "code price")


class Order(NamedTuple):
    part: Part
    count: int
    when: dt.date

    @property
    def total(self):
        return self.part.price * self.count


# %%
parts = [Part(f"P{n:03}", Decimal(n * 7 + 1) / 4) for n in range(40)]
orders = [Order(parts[n % 40], n % 5 + 1, dt.date(2024, 1, 1) + dt.timedelta(n)) for n in range(200)]
sum(order.total for order in orders)

# %%
settings = ChainMap({"currency": "CHF"}, {"currency": "EUR", "decimals": 2})
recent = deque((order for order in orders), maxlen=12)
by_part = OrderedDict()
for order in orders:
    by_part.setdefault(order.part.code, []).append(order)
by_part.move_to_end("P000")
next(iter(by_part)), len(recent)

# %%
bundles = {frozenset(order.part.code for order in orders[n : n + 3]) for n in range(0, 12, 3)}
shares = {code: Fraction(len(found), len(orders)) for code, found in by_part.items()}
sum(shares.values())

# %%
key = uuid.uuid5(uuid.NAMESPACE_DNS, "inventory")
opened = dt.datetime(2024, 3, 31, 1, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))
settings["decimals"], str(key)[:8], opened.isoformat()

# %%
recent.appendleft(orders[0])
orders[-1] is recent[-1], by_part["P001"][0] is orders[1]
