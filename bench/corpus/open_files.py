"""Files that are open at the end: one is read, one is written; and what was read so far."""

# %%
import pathlib
import tempfile

folder = pathlib.Path(tempfile.gettempdir())
source = folder / "banyan_corpus_measurements.txt"
source.write_text("\n".join(f"{n} {n * n % 97}" for n in range(2000)))

# %%
reader = open(source)
head = [reader.readline().split() for _ in range(10)]
head[-1]

# %% tagged rerun-always
notes = open(folder / "banyan_corpus_notes.txt", "w")
notes.write("ten lines read\n")

# %%
numbers = [int(second) for _, second in head]
total = sum(numbers)
total

# %%
by_rest = {}
for first, second in head:
    by_rest.setdefault(int(second) % 3, []).append(int(first))
by_rest
