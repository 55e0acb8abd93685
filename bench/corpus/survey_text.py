"""Free answers of a survey: cleaning text, counting words, who says what."""

# %%
import re
import string
from collections import Counter, defaultdict

# %%
answers = [
    "The room was clean, the staff was friendly!!",
    "clean room. Breakfast: too late, too little",
    "Staff friendly; LIFT BROKEN (again).",
    "I'd come again - friendly staff, good breakfast",
    "noisy street, broken shower, but clean",
    "Breakfast good, lift broken, street noisy...",
] * 50
stop = set("the was i d too but and a".split())


# %%
def words(text):
    text = text.lower().translate(str.maketrans(string.punctuation, " " * len(string.punctuation)))
    return [word for word in text.split() if word not in stop]


counts = Counter()
for answer in answers:
    counts.update(words(answer))
counts.most_common(6)

# %%
together = defaultdict(Counter)
for answer in answers:
    found = set(words(answer))
    for word in found:
        together[word].update(sorted(found - {word}))
together["broken"].most_common(3)

# %%
pattern = re.compile(r"\b(clean|friendly|good)\b", re.IGNORECASE)
praise = [len(pattern.findall(answer)) for answer in answers]
happy = [answer for answer, score in zip(answers, praise, strict=True) if score >= 2]
len(happy)

# %%
index = {word: frozenset(n for n, answer in enumerate(answers[:6]) if word in words(answer)) for word in counts}
index["broken"] & index["noisy"]
