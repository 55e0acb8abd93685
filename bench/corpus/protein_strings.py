"""Made-up sequences: translation, open frames, alignment by dynamic programming."""

# %%
import random

import numpy as np

random.seed(20)
bases = "ACGT"
genome = "".join(random.choice(bases) for _ in range(60_000))

# %%
codons = [a + b + c for a in "TCAG" for b in "TCAG" for c in "TCAG"]
amino = dict(zip(codons, "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG", strict=True))


def translate(sequence):
    return "".join(amino[sequence[i : i + 3]] for i in range(0, len(sequence) - 2, 3))


protein = translate(genome)
longest = max(protein.split("*"), key=len)
len(longest)


# %%
def align(one, other, gap=-2):
    score = np.zeros((len(one) + 1, len(other) + 1), dtype=int)
    score[0], score[:, 0] = gap * np.arange(len(other) + 1), gap * np.arange(len(one) + 1)
    for i, a in enumerate(one, 1):
        for j, b in enumerate(other, 1):
            score[i, j] = max(score[i - 1, j - 1] + (1 if a == b else -1), score[i - 1, j] + gap, score[i, j - 1] + gap)
    return score


first, second = genome[:350], genome[20:200] + genome[230:360]
table = align(first, second)
int(table[-1, -1])

# %%
frequency = {base: genome.count(base) for base in bases}
skew = np.cumsum([(base == "G") - (base == "C") for base in genome])
origin = int(skew.argmin())
frequency["A"], origin

# %%
words = {}
for i in range(len(genome) - 7):
    words.setdefault(genome[i : i + 8], []).append(i)
repeated = {word: places for word, places in words.items() if len(places) > 6}
len(repeated)
