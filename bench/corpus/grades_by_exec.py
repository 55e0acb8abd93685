"""Code as text: templates that are run, names that are computed, functions made in a loop."""

# %%
template = "def grade_{name}(points):\n    return round({low} + {span} * points / 100, 1)"
scales = {"swiss": (1, 5), "school": (0, 20), "percent": (0, 100)}
for name, (low, span) in scales.items():
    exec(template.format(name=name, low=low, span=span))
grade_swiss(80), grade_school(80)

# %%
functions = {name: globals()[f"grade_{name}"] for name in scales}
table = {points: [functions[name](points) for name in scales] for points in range(0, 101, 20)}
table[60]

# %%
for number in range(3):
    globals()[f"list_{number}"] = [number] * 2
list_2.append(list_0)
list_2[-1] is list_0

# %%
space = {"base": 3}
exec("result = base ** 2\ndef inner():\n    return base + result", space)
space["result"], space["inner"]()

# %%
formula = compile("points * 2 + 1", "<formula>", "eval")
answers = [eval(formula, {"points": points}) for points in (1, 2, 3)]
del space["__builtins__"]
answers
