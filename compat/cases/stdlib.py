"""The standard library: data types, and handles on the system."""

from compat.case import Case, Library

_XML = "x.tag, x.attrib, [(e.tag, e.text) for e in x]"

DATA = Library(
    "standard library",
    None,
    """
import argparse, array, ast, calendar, collections, configparser, contextvars, copy, csv, datetime, decimal, difflib
import fractions, functools, graphlib, hashlib, hmac, inspect, io, ipaddress, itertools, json, operator, pathlib
import random, re, statistics, string, struct, textwrap, time, tokenize, typing, uuid, zoneinfo
import xml.etree.ElementTree as ET
from email.message import EmailMessage
from http.cookies import SimpleCookie
from urllib.parse import urlparse
from xml.dom import minidom
""".strip(),
    (
        Case("collections.deque", "x = collections.deque([1, 2], maxlen=3)", "x.append(3)", "(list(x), x.maxlen)"),
        Case("collections.OrderedDict", "x = collections.OrderedDict(a=1, b=2)", "x.move_to_end('a')"),
        Case(
            "collections.defaultdict",
            "x = collections.defaultdict(list, a=[1])",
            "x['b'].append(2)",
            "(dict(x), x.default_factory)",
        ),
        Case("collections.Counter", "x = collections.Counter('abca')", "x['a'] += 1"),
        Case("collections.ChainMap", "x = collections.ChainMap({'a': 1}, {'b': 2})", "x['b'] = 3", "x.maps"),
        Case("collections.UserDict", "x = collections.UserDict(a=1)", "x['b'] = 2"),
        Case("collections.UserList", "x = collections.UserList([1])", "x.append(2)"),
        Case("collections.UserString", "x = collections.UserString('a')", "x.data = 'b'"),
        Case("array.array", "x = array.array('d', range(1000))", "x[5] = -1"),
        Case("datetime.date", "x = datetime.date(2026, 1, 31)", "x += datetime.timedelta(1)", frozen=True),
        Case("datetime.time", "x = datetime.time(1, 2, 3, 4, fold=1)", "x = x.replace(hour=2)", frozen=True),
        Case(
            "datetime.datetime",
            "x = datetime.datetime(2026, 1, 31, tzinfo=datetime.timezone.utc)",
            "x = x.replace(year=2027)",
            frozen=True,
        ),
        Case("datetime.timedelta", "x = datetime.timedelta(hours=5)", "x *= 2", frozen=True),
        Case("datetime.timezone", "x = datetime.timezone.utc", "x = datetime.timezone.min", frozen=True),
        Case(
            "zoneinfo.ZoneInfo",
            "x = zoneinfo.ZoneInfo('UTC')",
            "x = zoneinfo.ZoneInfo('Etc/GMT+1')",
            "x.key",
            frozen=True,
        ),
        Case("decimal.Decimal", "x = decimal.Decimal('1.10')", "x += 1", "(x, str(x))", frozen=True),
        Case("decimal.Context", "x = decimal.Context(prec=5)", "x.prec = 6", "(x.prec, x.rounding)"),
        Case("fractions.Fraction", "x = fractions.Fraction(1, 3)", "x += 1", frozen=True),
        Case("statistics.NormalDist", "x = statistics.NormalDist(1, 2)", "x += 1"),
        Case("uuid.UUID", "x = uuid.UUID(int=5)", "x = uuid.UUID(int=6)", frozen=True),
        Case("pathlib.PosixPath", "x = pathlib.Path('/tmp/a')", "x /= 'b'", frozen=True),
        Case("re.Pattern", "x = re.compile('a+', re.I)", "x = re.compile('b')", frozen=True),
        Case("re.Match", "x = re.match('a(.)', 'ab')", "x = re.match('a(.)', 'ac')", "x.groups()"),
        Case("random.Random", "x = random.Random(1)", "x.random()", "x.getstate()"),
        Case("string.Template", "x = string.Template('$a')", "x.template = '$b'", "x.substitute(a=1, b=2)"),
        Case("struct.Struct", "x = struct.Struct('<I')", "x = struct.Struct('<H')", "(x.format, x.size)"),
        Case("itertools.count", "x = itertools.count(3)", "next(x)", "next(copy.copy(x))"),
        Case("itertools.cycle", "x = itertools.cycle([1, 2, 3])", "next(x)", "next(copy.deepcopy(x))"),
        Case("itertools.chain", "x = itertools.chain([1], [2, 3])", "next(x)", "list(copy.deepcopy(x))"),
        Case("itertools.product", "x = itertools.product('ab', [1, 2])", "next(x)", "list(copy.deepcopy(x))"),
        Case("itertools.islice", "x = itertools.islice([1, 2, 3, 4], 3)", "next(x)", "list(copy.deepcopy(x))"),
        Case("itertools.groupby", "x = itertools.groupby('aab')", "next(x)", "[k for k, _ in copy.deepcopy(x)]"),
        Case("itertools._tee", "x = itertools.tee([1, 2, 3])[0]", "next(x)", "list(copy.copy(x))"),
        Case("operator.itemgetter", "x = operator.itemgetter(1)", "x = operator.itemgetter(0)", "x('ab')"),
        Case("operator.attrgetter", "x = operator.attrgetter('real')", "x = operator.attrgetter('imag')", "x(1 + 2j)"),
        Case("io.StringIO", "x = io.StringIO('abc')", "x.read(1)", "(x.getvalue(), x.tell())"),
        Case("io.BytesIO", "x = io.BytesIO(b'abc' * 1000)", "x.seek(5); x.write(b'!')", "(x.getvalue(), x.tell())"),
        Case(
            "configparser.ConfigParser",
            "x = configparser.ConfigParser()\nx.read_string('[a]\\nb=1')",
            "x['a']['b'] = '2'",
            "{s: dict(x[s]) for s in x}",
        ),
        Case(
            "argparse.ArgumentParser",
            "x = argparse.ArgumentParser(prog='p')\n_ = x.add_argument('-n', type=int, default=1)",
            "x.set_defaults(n=2)",
            "vars(x.parse_args([]))",
        ),
        Case("argparse.Namespace", "x = argparse.Namespace(a=1)", "x.a = 2"),
        Case(
            "email.message.EmailMessage",
            "x = EmailMessage()\nx['To'] = 'a'\nx.set_content('hi')",
            "x['From'] = 'b'",
            "str(x)",
        ),
        Case("http.cookies.SimpleCookie", "x = SimpleCookie('a=1')", "x['a'] = '2'", "x.output()"),
        Case("urllib.parse.ParseResult", "x = urlparse('http://a/b?c=1')", "x = x._replace(path='/d')", frozen=True),
        Case(
            "ipaddress.IPv4Network", "x = ipaddress.ip_network('10.0.0.0/8')", "x = ipaddress.ip_network('10.1.0.0/16')"
        ),
        Case("ipaddress.IPv6Address", "x = ipaddress.ip_address('::1')", "x += 1"),
        Case("xml.etree.ElementTree.Element", "x = ET.fromstring('<a b=\"1\"><c>t</c></a>')", "x[0].text = 'u'", _XML),
        Case(
            "xml.etree.ElementTree.ElementTree",
            "x = ET.ElementTree(ET.fromstring('<a><c>t</c></a>'))",
            "x.getroot()[0].text = 'u'",
            "[(e.tag, e.text) for e in x.iter()]",
        ),
        Case(
            "xml.dom.minidom.Document",
            "x = minidom.parseString('<a/>')",
            "x.firstChild.setAttribute('b', '1')",
            "x.toxml()",
        ),
        Case("ast.Module", "x = ast.parse('a + 1')", "x.body[0].value.right.value = 2", "ast.dump(x)"),
        Case("calendar.TextCalendar", "x = calendar.TextCalendar()", "x.setfirstweekday(6)", "x.firstweekday"),
        Case("textwrap.TextWrapper", "x = textwrap.TextWrapper(width=9)", "x.width = 20", "x.wrap('some words here')"),
        Case(
            "difflib.SequenceMatcher",
            "x = difflib.SequenceMatcher(None, 'abc', 'abd')",
            "x.set_seq2('abc')",
            "x.ratio()",
        ),
        Case(
            "graphlib.TopologicalSorter",
            "x = graphlib.TopologicalSorter({'b': ['a']})",
            "x.add('a', 'c')",
            "list(copy.deepcopy(x).static_order())",
        ),
        Case("json.JSONEncoder", "x = json.JSONEncoder(indent=1)", "x.indent = 2", "x.encode([1])"),
        Case(
            "inspect.Signature", "def f(a, b=1): ...\nx = inspect.signature(f)", "x = x.replace(return_annotation=int)"
        ),
        Case(
            "typing.TypeVar",
            "x = typing.TypeVar('x')",
            "x = typing.TypeVar('x', bound=int)",
            "(x.__name__, x.__bound__)",
            frozen=True,
        ),
        Case("time.struct_time", "x = time.gmtime(0)", "x = time.gmtime(86400)", frozen=True),
        Case(
            "tokenize.TokenInfo",
            "x = next(tokenize.generate_tokens(iter(['a\\n']).__next__))",
            "x = x._replace(string='b')",
            frozen=True,
        ),
        Case("_hashlib.HASH", "x = hashlib.sha256(b'a')", "x.update(b'b')", "x.hexdigest()"),
        Case("hmac.HMAC", "x = hmac.new(b'k', b'a', 'sha256')", "x.update(b'b')", "x.hexdigest()"),
        Case("_csv.Dialect", "x = csv.get_dialect('excel')", "x = csv.get_dialect('unix')", "x.lineterminator"),
        Case(
            "contextvars.ContextVar",
            "x = contextvars.ContextVar('x', default=0)",
            "x = contextvars.ContextVar('x', default=1)",
            "(x.name, x.get())",
            "what it is set to stands beside the variables",
        ),
        Case(
            "functools.cmp_to_key",
            "x = functools.cmp_to_key(lambda a, b: a - b)",
            "x = functools.cmp_to_key(lambda a, b: b - a)",
            "sorted([2, 1, 3], key=x)",
        ),
    ),
)

SYSTEM = Library(
    "handles on the system",
    None,
    """
import asyncio, concurrent.futures, ctypes, gzip, logging, mmap, multiprocessing, os, queue, selectors
import shelve, socket, sqlite3, ssl, subprocess, tempfile, threading, time, zipfile, zlib
import http.client, urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
""".strip(),
    (
        Case("io.TextIOWrapper", "x = open('f', 'w')", "_ = x.write('a')", "x.tell()"),
        Case("io.BufferedReader", "open('f', 'w').write('abc')\nx = open('f', 'rb')", "_ = x.read(1)", "x.tell()"),
        Case("tempfile._TemporaryFileWrapper", "x = tempfile.NamedTemporaryFile()", "x.write(b'a')", "x.tell()"),
        Case(
            "tempfile.TemporaryDirectory", "x = tempfile.TemporaryDirectory()", "x.cleanup()", "os.path.exists(x.name)"
        ),
        Case("zipfile.ZipFile", "x = zipfile.ZipFile('z', 'w')", "x.writestr('a', 'b')", "x.namelist()"),
        Case("gzip.GzipFile", "x = gzip.open('g', 'wb')", "x.write(b'a')", "x.tell()"),
        Case("zlib.decompressobj", "x = zlib.decompressobj()", "_ = x.decompress(zlib.compress(b'a'))", "x.eof"),
        Case("mmap.mmap", "x = mmap.mmap(-1, 16)", "x[0] = 1", "x[:]"),
        Case("socket.socket", "x = socket.socket()", "x.settimeout(1)", "x.gettimeout()"),
        Case("ssl.SSLContext", "x = ssl.create_default_context()", "x.check_hostname = False", "x.check_hostname"),
        Case("selectors.EpollSelector", "x = selectors.DefaultSelector()", "x.extra = 1", "getattr(x, 'extra', 0)"),
        Case(
            "http.client.HTTPConnection",
            "x = http.client.HTTPConnection('localhost')",
            "x.timeout = 5",
            "(x.host, x.timeout)",
        ),
        Case(
            "urllib.request.Request",
            "x = urllib.request.Request('http://a/b')",
            "x.add_header('K', 'v')",
            "(x.full_url, x.headers)",
        ),
        Case(
            "subprocess.Popen",
            "x = subprocess.Popen(['cat'], stdin=subprocess.PIPE)",
            "_ = x.communicate()",
            "x.returncode is None",
        ),
        Case(
            "subprocess.CompletedProcess",
            "x = subprocess.run(['true'])",
            "x.note = 1",
            "(x.args, x.returncode, getattr(x, 'note', 0))",
        ),
        Case(
            "threading.Thread",
            "x = threading.Thread(target=time.sleep, args=(0,))",
            "x.name = 'changed'",
            "x.name == 'changed'",
        ),
        Case("threading.Lock", "x = threading.Lock()", "x.acquire()", "x.locked()"),
        Case("threading.RLock", "x = threading.RLock()", "x.acquire()", "x._is_owned()"),
        Case("threading.Event", "x = threading.Event()", "x.set()", "x.is_set()"),
        Case("threading.Semaphore", "x = threading.Semaphore(2)", "x.acquire()", "x._value"),
        Case("threading.local", "x = threading.local()\nx.a = 1", "x.a = 2", "x.a"),
        Case("queue.Queue", "x = queue.Queue()\nx.put(1)", "x.put(2)", "list(x.queue)"),
        Case("queue.SimpleQueue", "x = queue.SimpleQueue()", "x.put(2)", "x.qsize()"),
        Case("asyncio.Queue", "x = asyncio.Queue()\nx.put_nowait(1)", "x.put_nowait(2)", "x.qsize()"),
        Case("asyncio.Lock", "x = asyncio.Lock()", "x.note = 1", "(x.locked(), getattr(x, 'note', 0))"),
        Case("asyncio.Event", "x = asyncio.Event()", "x.set()", "x.is_set()"),
        Case("asyncio.AbstractEventLoop", "x = asyncio.new_event_loop()", "x.close()", "x.is_closed()"),
        Case("concurrent.futures.Future", "x = Future()", "x.set_result(1)", "x.done()"),
        Case("concurrent.futures.ThreadPoolExecutor", "x = ThreadPoolExecutor(1)", "x.shutdown()", "x._shutdown"),
        Case(
            "multiprocessing.process.BaseProcess",
            "x = multiprocessing.Process(target=len)",
            "x.name = 'n'",
            "x.name == 'n'",
        ),
        Case(
            "sqlite3.Connection",
            "x = sqlite3.connect(':memory:')",
            "_ = x.execute('create table t (a)')",
            "x.in_transaction, x.execute('select count(*) from sqlite_master').fetchall()",
        ),
        Case(
            "sqlite3.Row",
            "c = sqlite3.connect(':memory:')\nc.row_factory = sqlite3.Row\nx = c.execute('select 1 a').fetchone()",
            "x = c.execute('select 2 a').fetchone()",
            "tuple(x)",
        ),
        Case("shelve.Shelf", "x = shelve.open('s', 'n')", "x['a'] = 1", "dict(x)"),
        Case("logging.Logger", "x = logging.getLogger('compat')", "x = logging.getLogger('compat.part')", "x.name"),
        Case("logging.StreamHandler", "x = logging.StreamHandler()", "x.setLevel(10)", "x.level"),
        Case("logging.Formatter", "x = logging.Formatter('%(name)s')", "x.datefmt = '%H'", "(x._fmt, x.datefmt)"),
        Case("ctypes.c_int", "x = ctypes.c_int(1)", "x.value = 2", "x.value"),
        Case("ctypes.Array", "x = (ctypes.c_int * 3)(1, 2, 3)", "x[0] = 5", "list(x)"),
        Case("ctypes._Pointer", "x = ctypes.pointer(ctypes.c_int(1))", "x.contents.value = 2", "x.contents.value"),
        Case("os.stat_result", "x = os.stat_result(range(10))", "x = os.stat_result(range(1, 11))", frozen=True),
    ),
)
