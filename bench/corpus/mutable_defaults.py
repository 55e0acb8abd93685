"""Surprises of Python, collected: defaults that grow, class attributes, names in loops, identity."""


# %%
def collect(item, into=[]):  # noqa: B006
    into.append(item)
    return into


mine = collect(1)
collect(2)
mine, collect.__defaults__


# %%
class Basket:
    items = []
    made = 0

    def __init__(self):
        type(self).made += 1

    def put(self, item):
        self.items.append(item)
        return self


one, other = Basket(), Basket()
one.put("apple")
other.items, Basket.made

# %%
other.items = ["own"]
other.put("pear")
Basket.items, other.items

# %%
tricky = ([],)
try:
    tricky[0] += ["in"]
except TypeError as problem:
    text = str(problem)
tricky

# %%
collect.calls = collect("last")
put = one.put
put("plum")
collect.calls is mine, Basket.items is one.items


# %%
class Meta(type):
    registry = {}

    def __new__(mcs, name, bases, space, **options):
        made = super().__new__(mcs, name, bases, space, **options)
        mcs.registry[name] = made
        return made


class Plugin(metaclass=Meta):
    pass


class Export(Plugin):
    def __init_subclass__(cls, **options):
        cls.options = options


class Csv(Export, separator=";"):
    pass


sorted(Meta.registry), Csv.options
