"""More of `kinds.py`: what IPython itself holds, and context variables."""

from __future__ import annotations

try:
    from kinds import Kind
except ImportError:  # of the tests of the platform
    from python.tests.kinds import Kind

_OWN_EXTENSION = """
import os, pathlib, sys
pathlib.Path('mine_ext.py').write_text('''
def load_ipython_extension(shell):
    shell.register_magic_function(own_magic)

def own_magic(line):
    return line + '!'
''')
sys.path.insert(0, os.getcwd())
"""
_COMPLETING_EXTENSION = """
import os, pathlib, sys
pathlib.Path('completing_ext.py').write_text('''
def completes(shell, event):
    return ['x']

def load_ipython_extension(shell):
    shell.set_hook('complete_command', completes, str_key='completed')
''')
sys.path.insert(0, os.getcwd())
"""
_MAGICS = """
from IPython.core.magic import Magics, magics_class, line_magic
@magics_class
class Counting(Magics):
    def __init__(self, shell):
        super().__init__(shell)
        self.count = 7
    @line_magic
    def counted(self, line):
        return self.count, self.shell is get_ipython()
"""

CONTEXT = [
    Kind(
        "a context variable",
        "import contextvars\nasked = contextvars.ContextVar('asked', default=[])",
        "_ = asked.set(7)",
        "asked.get()",
    ),
    Kind(
        "a context variable that is set to an object of a variable",
        "import contextvars\nrequest = contextvars.ContextVar('request', default=None); rows = [1]",
        "_ = request.set(rows)",
        "request.get() is rows",
    ),
    Kind(
        "context variables within an object, of one name",
        "import contextvars\nclass Has:\n    pass\nhas = Has()\n"
        "has.one, has.other = [contextvars.ContextVar('same', default=0) for _ in 'ab']",
        "_ = has.one.set('one'), has.other.set('other')",
        "has.one.get(), has.other.get()",
    ),
]

# What IPython itself holds.
IPYTHON = [
    Kind(
        "%config of figures",
        "import matplotlib.pyplot as plt; from matplotlib_inline.config import InlineBackend",
        "%config InlineBackend.figure_format = 'svg'",
        "InlineBackend.instance().figure_formats, [kind.__name__ for kind in get_ipython().display_formatter"
        ".formatters['image/svg+xml'].type_printers]",
        "matplotlib",
        sets="formats of figures",
    ),
    Kind(
        "%config of the shell",
        "pass",
        "%config InteractiveShell.ast_node_interactivity = 'last_expr_or_assign'",
        "get_ipython().ast_node_interactivity",
    ),
    Kind(
        "a trait of a formatter",
        "pass",
        "get_ipython().display_formatter.formatters['text/plain'].max_width = 33",
        "get_ipython().display_formatter.formatters['text/plain'].max_width",
    ),
    Kind(
        "%precision",
        "pass",
        "%precision %r",
        "get_ipython().display_formatter.formatters['text/plain'].float_precision",
    ),
    Kind(
        "%pprint", "pass", "%pprint", "get_ipython().display_formatter.formatters['text/plain'].pprint", sets="floats"
    ),
    Kind("%xmode", "pass", "%xmode Minimal", "get_ipython().InteractiveTB.mode"),
    Kind("where %cd - goes", "pass", "%cd -q /usr", "str(_dh[-1]), len(_dh) > 1", sets="cwd"),
    Kind("%pdb", "pass", "%pdb on", "get_ipython().call_pdb"),
    Kind("%alias", "pass", "%alias shouts echo shout %l", "get_ipython().alias_manager.is_alias('shouts')"),
    Kind("%unalias", "pass", "%unalias ll", "get_ipython().alias_manager.is_alias('ll')"),
    Kind(
        "%alias_magic", "pass", "%alias_magic listed lsmagic", "type(get_ipython().find_line_magic('listed')).__name__"
    ),
    Kind(
        "%load_ext",
        "pass",
        "%load_ext autoreload",
        "'autoreload' in get_ipython().magics_manager.magics['line']",
        sets="autoreload",
    ),
    Kind(
        "%autoreload",
        "pass",
        "%load_ext autoreload\n%autoreload 2",
        "[one._reloader.check_all for name, one in get_ipython().magics_manager.registry.items() if 'reloadM' in name]",
        sets="autoreload",
    ),
    Kind(
        "an extension that registers a completer for a command of its own",
        _COMPLETING_EXTENSION,
        "%load_ext completing_ext",
        "'completing_ext' in get_ipython().extension_manager.loaded, "
        "len(list(get_ipython().strdispatchers['complete_command'].flat_matches('completed')))",
    ),
    Kind(
        "an extension of the user's own",
        _OWN_EXTENSION,
        "%load_ext mine_ext",
        "get_ipython().find_line_magic('own_magic') is not None and get_ipython().run_line_magic('own_magic', 'x')",
    ),
    Kind(
        "a line magic",
        "from IPython.core.magic import register_line_magic, register_cell_magic\nsaid = []",
        "@register_line_magic\ndef says(line):\n    return line, said is globals()['said']",
        "get_ipython().find_line_magic('says') is not None and get_ipython().run_line_magic('says', 'x')",
    ),
    Kind(
        "a cell magic",
        "pass",
        "get_ipython().register_magic_function(lambda line, cell: cell[::-1], 'cell', 'backwards')",
        "[get_ipython().find_cell_magic('backwards') and get_ipython().run_cell_magic('backwards', '', 'a')]",
    ),
    Kind(
        "a class of magics",
        _MAGICS,
        "get_ipython().register_magics(Counting)",
        "get_ipython().find_line_magic('counted') is not None and get_ipython().run_line_magic('counted', '')",
    ),
    Kind(
        "an event",
        "heard = []\ndef hears(*_):\n    return heard",
        "get_ipython().events.register('post_run_cell', hears)",
        "[each() is heard for each in get_ipython().events.callbacks['post_run_cell'] if each.__name__ == 'hears']",
    ),
    Kind(
        "a formatter of a class",
        "class Shape:\n    pass",
        "get_ipython().display_formatter.formatters['text/html'].for_type(Shape, lambda shape: '<b>shape</b>');",
        "'text/html' in get_ipython().display_formatter.format(Shape())[0]",
    ),
    Kind(
        "a formatter of a class by its name",
        "from fractions import Fraction",
        "get_ipython().display_formatter.formatters['text/latex'].for_type_by_name('fractions', 'Fraction', str);",
        "'text/latex' in get_ipython().display_formatter.format(Fraction(1, 2))[0]",
    ),
    Kind(
        "formatters of a library",
        "import sympy",
        "sympy.init_printing(use_latex='mathjax')",
        "'text/latex' in get_ipython().display_formatter.format([sympy.Symbol('x')])[0]",
        "sympy",
        sets="floats",
    ),
    Kind(
        "an input transformer",
        "def swaps(lines):\n    return ['7\\n' if line == 'seven\\n' else line for line in lines]",
        "get_ipython().input_transformers_cleanup.append(swaps)",
        "get_ipython().transform_cell('seven')",
    ),
    Kind(
        "a late input transformer",
        "def late(lines):\n    return ['8\\n' if line == 'eight\\n' else line for line in lines]",
        "get_ipython().input_transformers_post.append(late)",
        "get_ipython().transform_cell('eight')",
    ),
    Kind(
        "an ast transformer",
        "import ast\nclass Adds(ast.NodeTransformer):\n    def visit_Constant(self, node):\n"
        "        return ast.Constant(1001) if node.value == 1000 else node",
        "get_ipython().ast_transformers.append(Adds())",
        "1000",
    ),
    Kind(
        "a handler of exceptions",
        "def handles(shell, kind, error, trace, tb_offset=None):\n    return None",
        "get_ipython().set_custom_exc((ZeroDivisionError,), handles)",
        "get_ipython().custom_exceptions",
    ),
    Kind(
        "prompts",
        "from IPython.terminal.prompts import Prompts\nclass Mine(Prompts):\n    pass",
        "get_ipython().prompts = Mine(get_ipython())",
        "type(getattr(get_ipython(), 'prompts', None)).__name__",
    ),
    Kind(
        "%matplotlib agg",
        "import matplotlib, matplotlib.pyplot as plt; _ = plt.figure()",
        "%matplotlib agg",
        "matplotlib.get_backend()",
        "matplotlib",
        sets="backend",
    ),
    Kind(
        "plt.ioff()",
        "import matplotlib, matplotlib.pyplot as plt; _ = plt.figure()",
        "_ = plt.ioff()",
        "matplotlib.is_interactive()",
        "matplotlib",
        sets="backend",
    ),
    Kind(
        "set_matplotlib_formats",
        "import matplotlib.pyplot as plt; from matplotlib_inline.backend_inline import set_matplotlib_formats; "
        "_ = plt.figure()",
        "set_matplotlib_formats('svg', dpi=70)",
        "[[(one.func.__name__, one.keywords['dpi']) for one in get_ipython().display_formatter"
        ".formatters[kind].type_printers.values() if 'dpi' in getattr(one, 'keywords', {})]"
        " for kind in ('image/svg+xml', 'image/png')]",
        "matplotlib",
        sets="formats of figures",
    ),
    Kind(
        "how a class is displayed",
        "class Told:\n    pass\ndef tells(one):\n    print('told')",
        "get_ipython().display_formatter.ipython_display_formatter.for_type(Told, tells);",
        "get_ipython().display_formatter.ipython_display_formatter.type_printers.get(Told) is tells",
    ),
    Kind(
        "what a class is as a MIME bundle",
        "class Packed:\n    pass\ndef packs(one, **_):\n    return {'text/plain': 'packed'}",
        "get_ipython().display_formatter.mimebundle_formatter.for_type(Packed, packs);",
        "get_ipython().display_formatter.format(Packed())[0]['text/plain'][:6]",
    ),
    Kind(
        "a completer of a command",
        "def complete(shell, event):\n    return ['one', 'other']",
        "get_ipython().set_hook('complete_command', complete, str_key='odd')",
        "[each.__func__ is complete for each in get_ipython().strdispatchers['complete_command'].flat_matches('odd')]",
    ),
    Kind(
        "completers of commands that match a pattern, and of one that has some",
        "def completes(shell, event):\n    return ['pair']",
        "[get_ipython().set_hook('complete_command', completes, re_key='o+ps') for _ in 'ab'] and None\n"
        "get_ipython().set_hook('complete_command', completes, str_key='%cd')",
        "[each.__func__ is completes for command in ('ops', '%cd') "
        "for each in get_ipython().strdispatchers['complete_command'].flat_matches(command)]",
    ),
    Kind(
        "%logstart",
        "log = get_ipython().logger",
        "%logstart -q odd.log over",
        "log.log_active, log.logfile is None",
    ),
    Kind(
        "a hook of messages",
        "def hears(message):\n    return message",
        "get_ipython().display_pub.register_hook(hears)",
        "hears in get_ipython().display_pub._hooks",
    ),
]
