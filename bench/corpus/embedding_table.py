"""Random vectors for words from a seed: 60 MB that a seed can make again, and small results."""

# %%
import numpy as np

words = [f"word{n}" for n in range(40_000)]
number = {word: n for n, word in enumerate(words)}

# %%
table = np.random.default_rng(17).standard_normal((40_000, 200))
table /= np.linalg.norm(table, axis=1, keepdims=True)
table.shape

# %%
like = table @ table[number["word123"]]
nearest = [words[n] for n in np.argsort(-like)[:5]]
nearest


# %%
def similarity(one, other):
    return float(table[number[one]] @ table[number[other]])


pairs = {(one, other): similarity(one, other) for one, other in zip(nearest, nearest[1:], strict=False)}
len(pairs)

# %%
table[number["word7"]] = table[number["word8"]]
similarity("word7", "word8")
