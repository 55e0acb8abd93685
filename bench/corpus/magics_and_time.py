"""A notebook with magics: figures inline, times of cells, the shell, what a line prints."""

# %%
# %matplotlib inline
import matplotlib.pyplot as plt
import numpy as np

# %%
# %%time
values = np.sort(np.random.default_rng(8).random(300_000))
median = values[len(values) // 2]

# %%
listing = get_ipython().getoutput("echo one two three")
words = listing[0].split()
words

# %%
# %who_ls ndarray
plt.plot(values[::1000])
plt.title("sorted")

# %%
# %%capture printed
for word in words:
    print(word.upper())

# %%
text = printed.stdout
text.split()

# %%
# !true
quarter, half = np.quantile(values, [0.25, 0.5])
half == median
