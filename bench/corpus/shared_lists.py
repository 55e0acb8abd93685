"""One list under many names: boards, queues, nested tables that share their rows."""

# %%
row = [0] * 5
wrong_board = [row] * 3
board = [[0] * 5 for _ in range(3)]
wrong_board[0][0] = board[0][0] = 1
wrong_board, board

# %%
todo = ["wash", "dry"]
people = {"ann": {"todo": todo, "done": []}, "bob": {"todo": todo, "done": []}}
people["ann"]["done"].append(todo.pop(0))
people

# %%
shallow, deep = people.copy(), {name: {key: list(v) for key, v in lists.items()} for name, lists in people.items()}
todo.append("iron")
shallow["bob"]["todo"] is todo, deep["bob"]["todo"]

# %%
ring = ["start"]
ring.append({"back": ring})
pair = (ring, ring[1])
pair[1]["back"] is pair[0]

# %%
selected = [lists for lists in people.values() if lists["done"]]
selected[0]["done"].extend(["fold", "store"])
default, other = [], []
flags = {name: default for name in people}
flags["ann"].append("late")
flags, default is flags["bob"], other
