"""Lists of linked nodes, a doubly linked deque, a trie, a graph with cycles."""

# %%
from dataclasses import dataclass, field


@dataclass
class Link:
    value: int
    next: "Link | None" = None


head = None
for n in range(200, 0, -1):
    head = Link(n, head)


# %%
class Chain:
    __slots__ = ("before", "key", "next")

    def __init__(self, key):
        self.key, self.before, self.next = key, self, self

    def insert(self, other):
        other.before, other.next = self, self.next
        self.next.before = other
        self.next = other


ring = Chain("guard")
for key in "abcdef":
    ring.insert(Chain(key))
third = ring.next.next.next

# %%
trie = {}
for word in "tree trie trunk tea ten team".split():
    node = trie
    for letter in word:
        node = node.setdefault(letter, {})
    node["end"] = word
node


# %%
@dataclass(eq=False)
class Town:
    name: str
    roads: dict = field(default_factory=dict)


towns = {name: Town(name) for name in ("Bern", "Thun", "Biel", "Olten")}
for one, other, km in (("Bern", "Thun", 30), ("Bern", "Biel", 40), ("Biel", "Olten", 55), ("Olten", "Bern", 65)):
    towns[one].roads[towns[other]] = km
    towns[other].roads[towns[one]] = km
start = towns["Bern"]

# %%
third.before.insert(Chain("new"))
middle = head
for _ in range(100):
    middle = middle.next
middle.value, [town.name for town in start.roads]
