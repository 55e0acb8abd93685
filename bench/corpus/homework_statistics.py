"""Homework of a first course: typing mistakes, a wrong name, a fix, and the answer."""

# %%
import statistics

grades = [4.5, 5.0, 3.5, 6.0, 5.5, 4.0, "5.5", 4.5]

# %% raises TypeError
mean = statistics.mean(grades)

# %%
grades[6] = float(grades[6])
mean = statistics.mean(grades)
mean

# %% raises NameError
deviation = statistics.stdev(grade)

# %%
deviation = statistics.stdev(grades)
round(deviation, 3)

# %% raises ZeroDivisionError
passed = [grade for grade in grades if grade >= 4]
total = 0
for grade in grades:
    total += 1
    share = len(passed) / (total - len(grades))

# %%
share = len(passed) / len(grades)
share

# %% raises KeyError
letters = {6.0: "A", 5.5: "B", 5.0: "C", 4.5: "D", 4.0: "E"}
result = []
for grade in grades:
    result.append(letters[grade])

# %%
letters[3.5] = "F"
result = [letters[grade] for grade in grades]
"".join(result)
