"""A lending library in a database in memory, with an open connection and a cursor in use."""

# %%
import sqlite3

db = sqlite3.connect(":memory:")
db.row_factory = sqlite3.Row
db.execute("CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, lent INTEGER DEFAULT 0)")

# %%
titles = [f"Volume {n}" for n in range(1, 301)]
with db:
    db.executemany("INSERT INTO book (title) VALUES (?)", [(title,) for title in titles])


# %%
def lend(number):
    with db:
        return db.execute("UPDATE book SET lent = lent + 1 WHERE id = ?", (number,)).rowcount


for number in (3, 14, 15, 92, 65, 3):
    lend(number)

# %% raises OperationalError
db.execute("SELECT author FROM book")

# %%
popular = [tuple(row) for row in db.execute("SELECT id, lent FROM book WHERE lent > 0 ORDER BY lent DESC, id")]
popular

# %%
cursor = db.execute("SELECT title FROM book ORDER BY id")
first = [cursor.fetchone()["title"] for _ in range(3)]
first
