"""Behaviour 33: the user's own modules are namespaces of the session, as its variables are."""

import textwrap

from story import Story, story


def module(name: str, text: str) -> str:
    """A cell that writes a module, makes it importable and imports it."""
    return (
        f"import os, sys, tempfile, importlib; folder{name} = tempfile.mkdtemp(); sys.path.insert(0, folder{name})\n"
        f"_ = open(os.path.join(folder{name}, '{name}.py'), 'w').write({text!r})\n"
        f"importlib.invalidate_caches(); import {name}"
    )


@story
def test_33_globals_that_a_function_sets() -> Story:
    """(33) `helpers.init(5)` sets a module's globals."""
    return Story(
        setup=module("own33a", "n33a = 0\ndef init(n):\n    global n33a, table\n    n33a = n\n    table = [n]\n"),
        change="own33a.init(5); moved33a = True",
        check="own33a.n33a, getattr(own33a, 'table', None)",
        before="(0, None)",
        after="(5, [5])",
    )


@story
def test_33_a_global_that_is_a_variable_too() -> Story:
    """(33) A global of a module that is a variable of the notebook too: `from helpers import cfg; cfg["a"] = 1`."""
    return Story(
        setup=[module("own33b", "cfg33b = {'a': 0}\ndef get(): return cfg33b['a']\n"), "from own33b import cfg33b"],
        change="cfg33b['a'] = 1",
        check="own33b.get(), own33b.cfg33b is cfg33b",
        before="(0, True)",
        after="(1, True)",
    )


@story
def test_33_a_registry_that_a_decorator_fills() -> Story:
    """(33) A registry of a module, which a decorator fills with a function of the notebook."""
    return Story(
        setup=module("own33c", "known = {}\ndef register(f):\n    known[f.__name__] = f\n    return f\n"),
        change="@own33c.register\ndef mine33c(): return 3",
        check="sorted(own33c.known), [f() for f in own33c.known.values()]",
        before="([], [])",
        after="(['mine33c'], [3])",
    )


@story
def test_33_a_reloaded_module() -> Story:
    """(33) A module that was edited and reloaded: an undo brings its earlier functions back."""
    write = "_ = open(os.path.join(folderown33d, 'own33d.py'), 'w').write('def answer(): return 22\\n')\n"
    return Story(
        setup=module("own33d", "def answer(): return 1\n"),
        change=write + "moved33d = True; _ = importlib.reload(own33d)",
        check="own33d.answer()",
        before="1",
        after="22",
    )


@story
def test_33_an_attribute_of_a_class() -> Story:
    """(33) An attribute of a class that a module defines."""
    return Story(
        setup=module("own33e", "class Config:\n    debug = False\n    seen = []\n") + "; c33e = own33e.Config()",
        change="moved33e = True; own33e.Config.debug = True; c33e.seen.append(1)",
        check="c33e.debug, own33e.Config.seen",
        before="(False, [])",
        after="(True, [1])",
    )


@story
def test_33_a_module_of_a_package() -> Story:
    """(33) A module of a package changes what another one of it holds."""
    return Story(
        setup=textwrap.dedent(
            """
            import os, sys, tempfile, importlib
            folder33f = tempfile.mkdtemp(); sys.path.insert(0, folder33f); os.mkdir(folder33f + '/own33f')
            _ = open(folder33f + '/own33f/__init__.py', 'w').write('state = {}\\n')
            _ = open(folder33f + '/own33f/sub.py', 'w').write('from . import state\\ndef put(k): state[k] = 1\\n')
            importlib.invalidate_caches()
            from own33f.sub import put
            """
        ),
        change="put('x33f'); moved33f = True",
        check="sys.modules['own33f'].state",
        before="{}",
        after="{'x33f': 1}",
    )
