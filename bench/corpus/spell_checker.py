"""Spelling by counting: a model of words in a dictionary, candidates one and two edits away."""

# %%
import re
from collections import Counter

text = (
    """the quick brown fox jumps over the lazy dog the dog sleeps and the fox runs
a notebook keeps its variables and its outputs and the reader keeps the notebook open
state that was lost is work that was lost and nobody likes work that was lost twice"""
    * 30
)

# %%
model = Counter(re.findall(r"[a-z]+", text))
total = model.total()
model.most_common(3)


# %%
def edits(word):
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    deleted = [a + b[1:] for a, b in splits if b]
    swapped = [a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1]
    replaced = [a + c + b[1:] for a, b in splits if b for c in letters]
    return {*deleted, *swapped, *replaced, *(a + c + b for a, b in splits for c in letters)}


def correct(word):
    near = [{word}, edits(word)]
    for found in near:
        if known := found & model.keys():
            return max(sorted(known), key=model.get)
    far = {two for one in near[1] for two in edits(one)} & model.keys()
    return max(sorted(far), key=model.get, default=word)


# %%
corrections = {word: correct(word) for word in ("teh", "notbook", "lsot", "variabels", "qzzz", "slepes")}
corrections

# %%
model.subtract(["twice"] * 5)
del model["quick"]
correct("quick")
