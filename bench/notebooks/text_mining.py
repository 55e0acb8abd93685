"""A made-up library: word counts, n-grams, similarity, spelling, topics."""

# %%
import math
import random
import re
from collections import Counter, defaultdict
from itertools import pairwise

import matplotlib.pyplot as plt

random.seed(99)

# %%
syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"] + ["an", "er", "in", "on", "st"]
vocabulary = sorted({"".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(8000)})
ranks = [1 / (place + 3) for place in range(len(vocabulary))]
random.shuffle(vocabulary)
len(vocabulary)


# %%
def document(topic):
    """A few hundred words, some of them typical of a topic."""
    words = random.choices(vocabulary, ranks, k=random.randint(150, 500))
    typical = vocabulary[500 + topic * 40 : 540 + topic * 40]
    words = [random.choice(typical) if random.random() < 0.15 else word for word in words]
    text, sentence = [], []
    for word in words:
        sentence.append(word)
        if random.random() < 0.08:
            text.append(" ".join(sentence).capitalize() + random.choice(".!?"))
            sentence = []
    return " ".join(text)


topics = [random.randrange(6) for _ in range(2500)]
documents = [document(topic) for topic in topics]
documents[0][:200]

# %%
token = re.compile(r"[a-z]+")
tokenised = [token.findall(text.lower()) for text in documents]
sum(map(len, tokenised))

# %%
counts = Counter(word for words in tokenised for word in words)
counts.most_common(15)

# %%
frequencies = sorted(counts.values(), reverse=True)
plt.loglog(range(1, len(frequencies) + 1), frequencies)
plt.xlabel("rank")

# %%
bigrams = Counter()
for words in tokenised:
    bigrams.update(pairwise(words))
total = sum(counts.values())
information = {
    pair: math.log(count * total / (counts[pair[0]] * counts[pair[1]]))
    for pair, count in bigrams.items()
    if count >= 20
}
sorted(information, key=information.get)[-10:]

# %%
appears_in = Counter(word for words in tokenised for word in set(words))
weight = {word: math.log(len(documents) / count) for word, count in appears_in.items()}


def vector(words):
    tally = Counter(words)
    raw = {word: (1 + math.log(count)) * weight[word] for word, count in tally.items()}
    norm = math.sqrt(sum(value * value for value in raw.values()))
    return {word: value / norm for word, value in raw.items()}


vectors = [vector(words) for words in tokenised]
max(vectors[0], key=vectors[0].get)

# %%
index = defaultdict(list)
for number, values in enumerate(vectors):
    for word, value in values.items():
        index[word].append((number, value))


def search(query, count=5):
    scores = Counter()
    for word in token.findall(query):
        for number, value in index.get(word, ()):
            scores[number] += value * weight[word]
    return scores.most_common(count)


query = " ".join(vocabulary[520:524])
[(topics[number], round(score, 2)) for number, score in search(query)]


# %%
def cosine(a, b):
    if len(b) < len(a):
        a, b = b, a
    return sum(value * b[word] for word, value in a.items() if word in b)


sample = random.sample(range(len(documents)), 400)
same, different = [], []
for place, one in enumerate(sample):
    for other in sample[:place]:
        (same if topics[one] == topics[other] else different).append(cosine(vectors[one], vectors[other]))
sum(same) / len(same), sum(different) / len(different)

# %%
plt.hist([same, different], bins=60, density=True, label=["same topic", "other topic"])
plt.legend()

# %%
train, test = range(2000), range(2000, len(documents))
words_of = [Counter() for _ in range(6)]
for number in train:
    words_of[topics[number]].update(tokenised[number])
sizes = [sum(tally.values()) for tally in words_of]


def classify(words):
    best = None
    for topic in range(6):
        score = sum(math.log((words_of[topic][word] + 1) / (sizes[topic] + len(counts))) for word in words)
        if best is None or score > best[0]:
            best = (score, topic)
    return best[1]


guesses = [classify(tokenised[number]) for number in test]
sum(guess == topics[number] for guess, number in zip(guesses, test, strict=True)) / len(test)


# %%
def edits(word):
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    letters = "abdefgiklmnoprstuvz"
    found = {a + b[1:] for a, b in cuts if b} | {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    found |= {a + c + b[1:] for a, b in cuts if b for c in letters}
    return found | {a + c + b for a, b in cuts for c in letters}


def correct(word):
    candidates = [w for w in edits(word) if w in counts] or [word]
    return max(candidates, key=lambda w: counts[w])


trials = random.choices(list(counts), list(counts.values()), k=2500)
wrong = []
for word in trials:
    place = random.randrange(len(word))
    wrong.append(word[:place] + random.choice("abdefgiklmn") + word[place + 1 :])
sum(correct(bad) == word for bad, word in zip(wrong, trials, strict=True)) / len(trials)

# %%
chain = defaultdict(Counter)
for words in tokenised:
    for a, b, c in zip(words, words[1:], words[2:], strict=False):
        chain[a, b][c] += 1
state = random.choice(list(chain))
story = list(state)
while len(story) < 60 and chain.get(state):
    story.append(random.choices(list(chain[state]), list(chain[state].values()))[0])
    state = (state[1], story[-1])
" ".join(story)
