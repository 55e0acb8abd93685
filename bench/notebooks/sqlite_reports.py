"""A shop's orders in SQLite: joins, windows, indices, and pandas for the rest."""

# %%
import random
import sqlite3
from datetime import date, timedelta

import matplotlib.pyplot as plt
import pandas as pd

random.seed(12)
path = "file:shop?mode=memory&cache=shared"

# %%
db = sqlite3.connect(path, uri=True)
db.executescript("""
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, country TEXT, since TEXT);
CREATE TABLE product (id INTEGER PRIMARY KEY, title TEXT, kind TEXT, price REAL);
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER, day TEXT);
CREATE TABLE line (purchase INTEGER, product INTEGER, quantity INTEGER);
""")

# %%
first_day = date(2022, 1, 1)
countries = ["CH", "DE", "FR", "IT", "AT"]
customers = [
    (n, f"Customer {n}", random.choice(countries), str(first_day + timedelta(random.randrange(900))))
    for n in range(20_000)
]
products = [
    (n, f"Product {n}", random.choice(["book", "game", "tool"]), round(random.lognormvariate(3, 0.6), 2))
    for n in range(1_000)
]
db.executemany("INSERT INTO customer VALUES (?, ?, ?, ?)", customers)
db.executemany("INSERT INTO product VALUES (?, ?, ?, ?)", products)
db.commit()

# %%
purchases, lines = [], []
for n in range(250_000):
    buyer = int(random.betavariate(1, 4) * 20_000)
    purchases.append((n, buyer, str(first_day + timedelta(random.randrange(1000)))))
    lines += [(n, int(random.betavariate(1, 3) * 1_000), random.randint(1, 4)) for _ in range(random.randint(1, 4))]
db.executemany("INSERT INTO purchase VALUES (?, ?, ?)", purchases)
db.executemany("INSERT INTO line VALUES (?, ?, ?)", lines)
db.commit()
len(purchases), len(lines)


# %%
def query(sql, *values):
    return pd.read_sql_query(sql, db, params=values)


query("SELECT country, count(*) AS customers FROM customer GROUP BY country")

# %%
db.execute("CREATE INDEX line_purchase ON line (purchase)")
db.execute("CREATE INDEX purchase_customer ON purchase (customer)")
query("EXPLAIN QUERY PLAN SELECT * FROM line WHERE purchase = 5")

# %%
best = query("""
SELECT title, kind, sum(quantity) AS sold, round(sum(quantity * price), 2) AS revenue
FROM line JOIN product ON product.id = line.product
GROUP BY product.id ORDER BY revenue DESC LIMIT 10
""")
best

# %%
monthly = query("""
SELECT substr(day, 1, 7) AS month, country, sum(quantity * price) AS revenue
FROM purchase JOIN line ON line.purchase = purchase.id JOIN product ON product.id = line.product
JOIN customer ON customer.id = purchase.customer
GROUP BY month, country
""")
monthly.pivot(index="month", columns="country", values="revenue").plot(figsize=(9, 3))

# %%
ranked = query("""
WITH spent AS (
  SELECT customer, sum(quantity * price) AS total FROM purchase
  JOIN line ON line.purchase = purchase.id JOIN product ON product.id = line.product GROUP BY customer)
SELECT customer.country, name, round(total, 2) AS total,
  rank() OVER (PARTITION BY country ORDER BY total DESC) AS place
FROM spent JOIN customer ON customer.id = spent.customer
""")
ranked[ranked["place"] <= 3].sort_values(["country", "place"])

# %%
gaps = query("""
SELECT customer, day,
  julianday(day) - julianday(lag(day) OVER (PARTITION BY customer ORDER BY day)) AS days
FROM purchase
""")
gaps["days"].dropna().describe()

# %%
plt.hist(gaps["days"].dropna(), bins=100, log=True)
plt.xlabel("days between purchases")

# %%
cohorts = query("""
WITH first AS (SELECT customer, min(day) AS start FROM purchase GROUP BY customer)
SELECT substr(start, 1, 7) AS cohort,
  CAST((julianday(day) - julianday(start)) / 30.44 AS INTEGER) AS age, count(DISTINCT purchase.customer) AS buyers
FROM purchase JOIN first ON first.customer = purchase.customer GROUP BY cohort, age
""")
retention = cohorts.pivot(index="cohort", columns="age", values="buyers")
retention.div(retention[0], axis=0).iloc[:12, :12].round(2)

# %%
pairs = query("""
SELECT a.product AS one, b.product AS other, count(*) AS together
FROM line AS a JOIN line AS b ON a.purchase = b.purchase AND a.product < b.product
GROUP BY one, other ORDER BY together DESC LIMIT 15
""")
pairs

# %%
running = query("""
SELECT day, sum(revenue) OVER (ORDER BY day ROWS 27 PRECEDING) / 28 AS average FROM (
  SELECT day, sum(quantity * price) AS revenue FROM purchase
  JOIN line ON line.purchase = purchase.id JOIN product ON product.id = line.product GROUP BY day)
""")
running.plot(x="day", y="average", figsize=(9, 3))

# %%
with db:
    db.execute("UPDATE product SET price = round(price * 1.05, 2) WHERE kind = 'book'")
    removed = db.execute("DELETE FROM line WHERE quantity = 4 AND product IN (SELECT id FROM product WHERE price > 60)")
removed.rowcount

# %%
everything = query("""
SELECT purchase.id, day, country, kind, quantity, price
FROM purchase JOIN line ON line.purchase = purchase.id JOIN product ON product.id = line.product
JOIN customer ON customer.id = purchase.customer
""")
everything["day"] = pd.to_datetime(everything["day"])
everything["value"] = everything["quantity"] * everything["price"]
everything.groupby(["country", "kind"])["value"].agg(["sum", "median"]).unstack()

# %%
db.close()
