"""Objects that are held weakly: a cache that forgets, a tree whose children know their parent."""

# %%
import gc
import weakref


class Node:
    def __init__(self, name, parent=None):
        self.name, self.children = name, []
        self._parent = weakref.ref(parent) if parent else None
        if parent:
            parent.children.append(self)

    @property
    def parent(self):
        return self._parent() if self._parent else None


# %%
root = Node("root")
branches = [Node(f"branch {n}", root) for n in range(3)]
leaf = Node("leaf", branches[1])

# %%
cache = weakref.WeakValueDictionary()
for node in (root, leaf, *branches):
    cache[node.name] = node
sorted(cache)

# %%
lost = weakref.ref(branches[2])
root.children.remove(branches[2])
del branches[2], node
gc.collect()
lost() is None, sorted(cache)

# %%
leaf.parent.parent is root, leaf.parent is branches[1]
