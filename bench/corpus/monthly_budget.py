"""A household's money: bookings, categories by rules, a budget that is changed as one goes."""

# %%
import datetime as dt
import random
from collections import defaultdict

random.seed(3)
shops = {"Coop": "food", "Bakery": "food", "Trains": "travel", "Cinema": "fun", "Landlord": "rent"}

# %%
bookings = []
day = dt.date(2024, 1, 1)
while day < dt.date(2025, 1, 1):
    for _ in range(random.randint(0, 3)):
        shop = random.choice(list(shops)[:-1])
        bookings.append({"day": day, "shop": shop, "amount": round(random.expovariate(1 / 25), 2)})
    if day.day == 1:
        bookings.append({"day": day, "shop": "Landlord", "amount": 1450.0})
    day += dt.timedelta(days=1)
len(bookings)

# %%
spent = defaultdict(lambda: defaultdict(float))
for booking in bookings:
    booking["kind"] = shops[booking["shop"]]
    spent[booking["day"].month][booking["kind"]] += booking["amount"]
{kind: round(amount) for kind, amount in spent[1].items()}

# %%
budget = {"food": 500, "travel": 250, "fun": 200, "rent": 1450}
over = {month: [kind for kind, amount in kinds.items() if amount > budget[kind]] for month, kinds in spent.items()}
over[2]

# %%
largest = max(bookings, key=lambda booking: booking["amount"] * (booking["kind"] != "rent"))
largest["note"] = "check this"
budget["fun"] -= 50
sum(budget.values())
