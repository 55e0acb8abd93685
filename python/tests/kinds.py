"""Settings of all kinds that a process holds beside its variables: what a cell does, and how one sees that it did."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """`before` is a cell of its own; `look` changes nothing, and its value differs before `change` and after it.

    Other kinds may be in the same session, but for those that set the same (`sets`): what `look` gives is no matter of
    theirs.
    """

    name: str
    before: str
    change: str
    look: str
    needs: str = ""
    sets: str = ""

    @property
    def is_here(self) -> bool:
        return not self.needs or importlib.util.find_spec(self.needs) is not None


_TEE = """
class Tee:
    def __init__(self, stream):
        self.stream, self.kept = stream, []
    def write(self, text):
        if text.startswith("kept"):
            self.kept.append(text)
        return self.stream.write(text)
    def flush(self):
        self.stream.flush()
"""
_LIST_HANDLER = """
import logging
class Keep(logging.Handler):
    def __init__(self, records):
        super().__init__()
        self.records = records
    def emit(self, record):
        self.records.append(record.getMessage())
records = []
"""

KINDS = [
    Kind("numpy.seterr", "import numpy as np", "np.seterr(divide='raise')", "np.geterr()['divide']", "numpy"),
    Kind("numpy.setbufsize", "import numpy as np", "_ = np.setbufsize(4096)", "np.getbufsize()", "numpy"),
    Kind(
        "numpy.seterrcall",
        "import numpy as np\nhits = []\ndef call(kind, flag):\n    hits.append(kind)",
        "_ = np.seterrcall(call)",
        "np.geterrcall() is call",
        "numpy",
    ),
    Kind(
        "numpy.printoptions",
        "import numpy as np",
        "np.set_printoptions(precision=3)",
        "str(np.array([1 / 3]))",
        "numpy",
    ),
    Kind(
        "sklearn.set_config",
        "import sklearn",
        "sklearn.set_config(transform_output='pandas')",
        "sklearn.get_config()['transform_output']",
        "sklearn",
    ),
    Kind(
        "pandas.options",
        "import pandas as pd",
        "pd.set_option('display.precision', 2)",
        "pd.get_option('display.precision')",
        "pandas",
    ),
    Kind(
        "rcParams",
        "import matplotlib as mpl",
        "mpl.rcParams['lines.linewidth'] = 7",
        "mpl.rcParams['lines.linewidth']",
        "matplotlib",
    ),
    Kind("decimal", "import decimal", "decimal.getcontext().prec = 7", "decimal.getcontext().prec"),
    Kind(
        "decimal, for threads that begin",
        "import decimal, threading\n"
        "def of_a_thread():\n"
        "    seen = []\n"
        "    thread = threading.Thread(target=lambda: seen.append(decimal.getcontext().prec))\n"
        "    thread.start(); thread.join()\n"
        "    return seen[0]",
        "decimal.DefaultContext.prec = 9",
        "of_a_thread()",
    ),
    Kind(
        "a font of matplotlib",
        "import os, matplotlib.font_manager as fm\n"
        "ttf = os.path.join(os.path.dirname(fm.findfont('DejaVu Sans')), '.', 'DejaVuSans.ttf')",
        "fm.fontManager.addfont(ttf)",
        "ttf in [font.fname for font in fm.fontManager.ttflist]",
        "matplotlib",
    ),
    Kind(
        "decimal traps",
        "import decimal",
        "decimal.getcontext().traps[decimal.Inexact] = True",
        "decimal.getcontext().traps[decimal.Inexact]",
    ),
    Kind("recursion", "import sys", "sys.setrecursionlimit(4321)", "sys.getrecursionlimit()"),
    Kind("digits", "import sys", "sys.set_int_max_str_digits(9999)", "sys.get_int_max_str_digits()"),
    Kind("switches", "import sys", "sys.setswitchinterval(0.25)", "sys.getswitchinterval()"),
    Kind("collection", "import gc", "gc.disable()", "gc.isenabled()"),
    Kind("thresholds", "import gc", "gc.set_threshold(12345, 6, 7)", "gc.get_threshold()"),
    Kind(
        "the stack of threads",
        "import threading\ndef stack_size():\n    size = threading.stack_size()\n"
        "    threading.stack_size(size)  # To ask for it has set it to the default.\n    return size",
        "_ = threading.stack_size(1 << 20)",
        "stack_size()",
    ),
    Kind(
        "flags of dlopen", "import os, sys", "sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)", "sys.getdlopenflags()"
    ),
    Kind("gettext.textdomain", "import gettext", "_ = gettext.textdomain('odd')", "gettext.textdomain()"),
    Kind("sockets", "import socket", "socket.setdefaulttimeout(7.5)", "[socket.getdefaulttimeout()]"),
    Kind(
        "locale",
        "import locale",
        "_ = locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8')",
        "locale.setlocale(locale.LC_NUMERIC)",
        sets="locale",
    ),
    Kind("time zone", "import os, time", "os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()", "time.tzname, time.timezone"),
    Kind("sys.argv", "import sys", "sys.argv[1:] = ['--fast', 'x']", "sys.argv[-2:]"),
    Kind(
        "signals",
        "import signal\nhits = []\ndef note(number, frame):\n    hits.append(number)",
        "_ = signal.signal(signal.SIGUSR1, note)",
        "signal.getsignal(signal.SIGUSR1) is note",
    ),
    Kind(
        "timers",
        "import signal\nhits = []\n_ = signal.signal(signal.SIGALRM, lambda *_: hits.append(1))",
        "_ = signal.setitimer(signal.ITIMER_REAL, 3600, 60)",
        "signal.getitimer(signal.ITIMER_REAL)[1]",
    ),
    Kind(
        "blocked signals",
        "import signal",
        "_ = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})",
        "signal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, ())",
    ),
    Kind(
        "logging.levels",
        "import logging",
        "logging.getLogger('banyan.kinds').setLevel(7)",
        "logging.getLogger('banyan.kinds').level",
    ),
    Kind(
        "a handler of logging that writes to a variable",
        _LIST_HANDLER + "keep = Keep(records)",
        "logging.getLogger('banyan.kinds').addHandler(keep)",
        "logging.getLogger('banyan.kinds').handlers == [keep] and keep.records is records",
    ),
    Kind(
        "a handler of logging without a variable",
        _LIST_HANDLER,
        "logging.getLogger('banyan.kinds').addHandler(Keep(records))",
        "[each.records is records for each in logging.getLogger('banyan.kinds').handlers]",
    ),
    Kind(
        "handlers of the root logger, in their order",
        _LIST_HANDLER + "import sys",
        "logging.root.handlers += [logging.StreamHandler(sys.stdout), Keep(records), logging.StreamHandler()]",
        "[(type(each).__name__, getattr(each, 'stream', None) is sys.stdout) for each in logging.root.handlers[-3:]]",
    ),
    Kind(
        "a filter of logging",
        "import logging\ndef quiet(record):\n    return False",
        "logging.getLogger('banyan.kinds').addFilter(quiet)",
        "logging.getLogger('banyan.kinds').filters == [quiet]",
    ),
    Kind(
        "sys.stdout of the user's",
        "import sys" + _TEE + "tee = Tee(sys.stdout)",
        "sys.stdout = tee",
        "sys.stdout is tee",
    ),
    Kind(
        "a stream without a variable",
        "import sys" + _TEE,
        "sys.stderr = Tee(sys.stderr)",
        "type(sys.stderr).__name__ == 'Tee' and type(sys.stderr.stream).__name__",
        sets="sys.stderr",
    ),
    Kind(
        "a text in the place of sys.stderr",
        "import io, sys",
        "sys.stderr = io.StringIO('kept')",
        "hasattr(sys.stderr, 'getvalue')",
        sets="sys.stderr",
    ),
    Kind(
        "sys.unraisablehook",
        "import sys\nseen = []\ndef hook(failure):\n    seen.append(failure)",
        "sys.unraisablehook = hook",
        "sys.unraisablehook is hook",
    ),
    Kind("sys.breakpointhook", "import sys", "sys.breakpointhook = lambda *_: 7", "sys.breakpointhook.__name__"),
    Kind(
        "sys.setprofile",
        "import sys\ndef profile(frame, event, argument):\n    pass",
        "sys.setprofile(profile)",
        "sys.getprofile() is profile",
    ),
    Kind(
        "threading.excepthook",
        "import threading\nfailed = []\ndef note(what):\n    failed.append(what.exc_type)",
        "threading.excepthook = note",
        "threading.excepthook is note",
    ),
    Kind(
        "warnings.showwarning",
        "import warnings\nshown = []\ndef show(*what):\n    shown.append(what)",
        "warnings.showwarning = show",
        "warnings.showwarning is show",
        sets="warnings.showwarning",
    ),
    Kind(
        "logging.setLogRecordFactory",
        "import logging\nclass Record(logging.LogRecord):\n    pass",
        "logging.setLogRecordFactory(Record)",
        "logging.getLogRecordFactory().__name__",
    ),
    Kind(
        "sys.meta_path",
        "import sys\nclass Finds:\n    def find_spec(self, name, path=None, target=None):\n        return None",
        "sys.meta_path.insert(0, Finds())",
        "type(sys.meta_path[0]).__name__",
    ),
    Kind(
        "gc.callbacks",
        "import gc\ndef collected(phase, info):\n    pass",
        "gc.callbacks.append(collected)",
        "collected in gc.callbacks",
    ),
    Kind(
        "a new name of builtins",
        "import builtins\ndef shout(text):\n    return text.upper()",
        "builtins.shouted = shout",
        "getattr(builtins, 'shouted', None) is shout",
    ),
    Kind(
        "a name of builtins bound anew",
        "import builtins",
        "builtins.oct = lambda number: 'mine'",
        "oct(8)",
    ),
    Kind(
        "a method of pandas",
        "import pandas as pd\ndef middle(frame):\n    return frame.iloc[len(frame) // 2]",
        "pd.DataFrame.middle = middle",
        "getattr(pd.DataFrame, 'middle', None) is middle",
        "pandas",
    ),
    Kind(
        "a method in the place of one of pandas",
        "import pandas as pd\ndef mine(frame):\n    return 'mine'",
        "pd.DataFrame.nunique = mine",
        "str(pd.DataFrame({'a': [1]}).nunique())",
        "pandas",
    ),
    Kind(
        "an accessor of pandas",
        "import pandas as pd",
        "@pd.api.extensions.register_dataframe_accessor('geo')\nclass Geo:\n    def __init__(self, frame):\n"
        "        self.size = len(frame)",
        "hasattr(pd.DataFrame, 'geo') and pd.DataFrame({'a': [1, 2]}).geo.size",
        "pandas",
    ),
    Kind(
        "tqdm.pandas", "import pandas as pd, tqdm", "tqdm.tqdm.pandas()", "hasattr(pd.Series, 'progress_apply')", "tqdm"
    ),
    Kind(
        "a method of a class of any library",
        "import fractions\ndef half(number):\n    return number / 2",
        "fractions.Fraction.half = half",
        "hasattr(fractions.Fraction, 'half') and fractions.Fraction(1).half()",
    ),
    Kind(
        "mock.patch of a function",
        "import colorsys\nfrom unittest import mock",
        "patch = mock.patch('colorsys.rgb_to_yiq', len); _ = patch.start()",
        "colorsys.rgb_to_yiq is len",
    ),
    Kind(
        "mock.patch without a variable",
        "import fractions\nfrom unittest import mock",
        "mock.patch.object(fractions.Fraction, 'limit_denominator', lambda *_: 'mine').start();",
        "fractions.Fraction(1).limit_denominator(2)",
    ),
    Kind(
        "a class registered with an abstract one",
        "import collections.abc, numbers\nclass Odd:\n    pass",
        "collections.abc.MutableSequence.register(Odd); numbers.Real.register(Odd);",
        "isinstance(Odd(), collections.abc.Sequence), issubclass(Odd, numbers.Complex), isinstance([], "
        "collections.abc.MutableSequence)",
    ),
    Kind(
        "a function registered with a library's singledispatch",
        "import pkgutil\nclass Odd:\n    pass",
        "@pkgutil.iter_importer_modules.register\ndef _(importer: Odd, prefix=''):\n    return 'mine'",
        "pkgutil.iter_importer_modules.dispatch(Odd).__name__, pkgutil.iter_importer_modules.dispatch(str).__name__",
    ),
    Kind(
        "copyreg",
        "import copyreg\nclass Odd:\n    pass\ndef reduce(odd):\n    return 'odd'",
        "copyreg.pickle(Odd, reduce)",
        "copyreg.dispatch_table.get(Odd) is reduce",
    ),
    Kind(
        "an adapter of sqlite3",
        "import sqlite3\nclass Odd:\n    pass\ndef adapt(odd):\n    return 'odd'",
        "sqlite3.register_adapter(Odd, adapt)",
        "(Odd, sqlite3.PrepareProtocol) in sqlite3.adapters and "
        "sqlite3.connect(':memory:').execute('select ?', (Odd(),)).fetchone()",
    ),
    Kind(
        "a converter of sqlite3",
        "import sqlite3\ndef convert(data):\n    return data",
        "sqlite3.register_converter('odd', convert)",
        "sqlite3.converters.get('ODD') is convert",
    ),
    Kind(
        "colormaps",
        "import matplotlib as mpl\nmine = mpl.colors.ListedColormap(['red', 'blue'], 'mine')",
        "mpl.colormaps.register(mine)",
        "'mine' in list(mpl.colormaps)",
        "matplotlib",
    ),
    Kind(
        "units of matplotlib",
        "import matplotlib.units\nclass Odd:\n    x = 1\n"
        "class Converts(matplotlib.units.ConversionInterface):\n    pass",
        "matplotlib.units.registry[Odd] = Converts()",
        "type(matplotlib.units.registry.get(Odd)).__name__",
        "matplotlib",
    ),
    Kind("logging.disable", "import logging", "logging.disable(30)", "logging.root.manager.disable"),
    Kind("logging.addLevelName", "import logging", "logging.addLevelName(25, 'NOTICE')", "logging.getLevelName(25)"),
    Kind(
        "logging.captureWarnings",
        "import logging, warnings",
        "logging.captureWarnings(True)",
        "warnings.showwarning.__module__",
        sets="warnings.showwarning",
    ),
    Kind(
        "warnings",
        "import warnings",
        "warnings.filterwarnings('error', 'not this')",
        "any(each[1] and each[1].pattern == 'not this' for each in warnings.filters)",
    ),
    Kind("environ", "import os", "os.environ['BANYAN_KIND'] = 'x'", "[os.environ.get('BANYAN_KIND')]"),
    Kind("cwd", "import os", "os.chdir('/')", "os.getcwd()", sets="cwd"),
    Kind(
        "umask",
        "import os, tempfile",
        "_ = os.umask(0o027)",
        "__import__('re').search(r'Umask:\\s*(\\d+)', open('/proc/self/status').read())[1]",
    ),
    Kind(
        "resource limits",
        "import resource",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (987, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
        "resource.getrlimit(resource.RLIMIT_NOFILE)[0]",
    ),
    Kind("csv dialects", "import csv", "csv.register_dialect('odd', delimiter='|')", "'odd' in csv.list_dialects()"),
    Kind("csv.field_size_limit", "import csv", "_ = csv.field_size_limit(4321)", "csv.field_size_limit()"),
    Kind("tracemalloc", "import tracemalloc", "tracemalloc.start(3)", "tracemalloc.is_tracing()"),
    Kind(
        "coroutine origins",
        "import sys",
        "sys.set_coroutine_origin_tracking_depth(3)",
        "sys.get_coroutine_origin_tracking_depth()",
    ),
    Kind(
        "a global of a library",
        "import PIL.Image",
        "PIL.Image.register_extension('ODD', '.odd')",
        "'.odd' in PIL.Image.EXTENSION",
        "PIL",
    ),
    Kind(
        "a registry of classes",
        "import joblib",
        "joblib.register_parallel_backend('odd', joblib.parallel.ThreadingBackend)",
        "'odd' in joblib.parallel.BACKENDS",
        "joblib",
    ),
    Kind(
        "an attribute of a library's class",
        "import http.client",
        "http.client.HTTPConnection.debuglevel = 3",
        "http.client.HTTPConnection.debuglevel",
    ),
    Kind(
        "a module within a library",
        "import requests.adapters",
        "requests.adapters.DEFAULT_RETRIES = 7",
        "requests.adapters.DEFAULT_RETRIES",
        "requests",
    ),
    Kind(
        "an attribute of the object of a library",
        "import multiprocessing",
        "multiprocessing.set_start_method('spawn', force=True)",
        "type(multiprocessing.context._default_context._actual_context).__name__",
    ),
    Kind(
        "urllib's opener",
        "import urllib.request",
        "opener = urllib.request.OpenerDirector(); urllib.request.install_opener(opener)",
        "urllib.request._opener is not None",
    ),
    Kind(
        "set by a function of the user",
        "import tqdm\ndef quiet():\n    set_interval(3)\ndef set_interval(s):\n    tqdm.tqdm.monitor_interval = s",
        "quiet()",
        "tqdm.tqdm.monitor_interval",
        "tqdm",
    ),
    Kind(
        "a number of a library's class that had none",
        "import json",
        "json.JSONDecoder.odd = 5",
        "getattr(json.JSONDecoder, 'odd', 0)",
    ),
    Kind("an attribute of sys", "import sys", "sys.ps1 = 'odd> '", "[getattr(sys, 'ps1', None)]"),
    Kind("logging.raiseExceptions", "import logging", "logging.raiseExceptions = False", "logging.raiseExceptions"),
    Kind(
        "a type of the mimetypes module",
        "import mimetypes",
        "mimetypes.add_type('x/odd', '.odd')",
        "mimetypes.guess_type('a.odd'), mimetypes.guess_extension('x/odd')",
    ),
    Kind(
        "a type of the mimetypes module for a known ending, and an encoding",
        "import mimetypes",
        "mimetypes.add_type('x/page', '.html', strict=False); mimetypes.encodings_map['.kz'] = 'kzip'",
        "mimetypes.guess_all_extensions('x/page', strict=False), mimetypes.guess_type('a.txt.kz')",
    ),
    Kind(
        "a handler of the process's own that is removed",
        "import logging",
        "logging.getLogger('tornado').handlers.clear()",
        "len(logging.getLogger('tornado').handlers)",
    ),
    Kind(
        "a dtype of the user's that pandas knows by its name",
        "import pandas as pd\nclass Known(pd.api.extensions.ExtensionDtype):\n    name, type = 'odd', object\n"
        "    @classmethod\n    def construct_array_type(cls):\n        return pd.arrays.NumpyExtensionArray\n"
        "def known():\n    try:\n        return pd.api.types.pandas_dtype('odd').name\n"
        "    except TypeError:\n        pass",
        "_ = pd.api.extensions.register_extension_dtype(Known)",
        "[known()]",
        "pandas",
    ),
    Kind(
        "the whole locale",
        "import locale",
        "_ = locale.setlocale(locale.LC_ALL, 'C.UTF-8')",
        "locale.setlocale(locale.LC_ALL)",
        sets="locale",
    ),
    Kind(
        "scipy.special.seterr",
        "import scipy.special",
        "_ = scipy.special.seterr(loss='raise')",
        "scipy.special.geterr()['loss']",
        "scipy",
    ),
    Kind(
        "a scale of matplotlib",
        "import matplotlib.scale\nclass Scale(matplotlib.scale.LinearScale):\n    name = 'odd'",
        "matplotlib.scale.register_scale(Scale)",
        "'odd' in matplotlib.scale.get_scale_names()",
        "matplotlib",
    ),
    Kind(
        "a projection of matplotlib",
        "import matplotlib.axes, matplotlib.projections as projections\n"
        "class Odd(matplotlib.axes.Axes):\n    name = 'odd'",
        "projections.register_projection(Odd)",
        "'odd' in projections.get_projection_names()",
        "matplotlib",
    ),
    Kind(
        "the policy of asyncio",
        "import asyncio\nclass Policy(asyncio.DefaultEventLoopPolicy):\n    pass",
        "asyncio.set_event_loop_policy(Policy())",
        # Python 3.14 warns of whoever calls it by its public name, and a cell may have said what a warning does.
        "type(getattr(asyncio.events, '_get_event_loop_policy', asyncio.get_event_loop_policy)()).__name__",
    ),
    Kind(
        "the loop of cells",
        "import asyncio\ndef handles(loop, context):\n    pass",
        "asyncio.get_event_loop().set_exception_handler(handles); asyncio.get_event_loop().slow_callback_duration = 5",
        "asyncio.get_event_loop().slow_callback_duration, "
        "getattr(asyncio.get_event_loop().get_exception_handler(), '__name__', None)",
    ),
]

# No bytes can hold them: they are named when their cell has ended, and when the session moves.
NAMED = [
    Kind("atexit", "import atexit", "_ = atexit.register(print)", "atexit._ncallbacks() > 0"),
    Kind("codecs.register", "import codecs", "codecs.register(len)", "'codecs'"),
    Kind(
        "a formatter's function for one object",
        "class One:\n    pass\none = One(); plain = get_ipython().display_formatter.formatters['text/plain']",
        "plain.singleton_printers[id(one)] = lambda one, printer, cycle: printer.text('one')",
        "id(one) in plain.singleton_printers",
    ),
]
