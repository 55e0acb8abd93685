"""numpy."""

from compat.case import Case, Library

_LAYOUT = "x.tolist(), x.dtype.str, x.strides, x.flags.writeable"

NUMPY = Library(
    "numpy",
    "numpy",
    "import numpy as np\nfrom numpy.polynomial import Chebyshev, Polynomial",
    (
        Case("numpy.ndarray", "x = np.arange(100_000.0)", "x[2] = 7"),
        Case("numpy.ndarray", "x = np.arange(6).reshape(2, 3).T", "x[0, 1] = 9", _LAYOUT, "transposed"),
        Case("numpy.ndarray", "x = np.arange(6)", "x.resize(3, refcheck=False)", _LAYOUT, "resized in place"),
        Case("numpy.ndarray", "x = np.arange(6)", "x.shape = (2, 3)", _LAYOUT, "reshaped in place"),
        Case("numpy.ndarray", "x = np.asfortranarray(np.eye(3))", "x[0, 1] = 9", _LAYOUT, "Fortran order"),
        Case(
            "numpy.ndarray", "b = np.zeros(9)\nx = b[2:5]", "b[3] = 1", "(x.tolist(), np.shares_memory(x, b))", "a view"
        ),
        Case(
            "numpy.ndarray", "b = np.zeros(9)\nx = b[::-2]", "x[0] = 1", "(b.tolist(), x.tolist(), x.strides)", "steps"
        ),
        Case(
            "numpy.ndarray",
            "x = np.broadcast_to(np.zeros(1), (3,))",
            "x = x + 1",
            "(x.tolist(), x.strides)",
            "broadcast",
        ),
        Case(
            "numpy.ndarray",
            "x = np.arange(3)\nx.flags.writeable = False",
            "x.flags.writeable = True",
            _LAYOUT,
            "read-only",
        ),
        Case("numpy.ndarray", "x = np.array([{'a': 1}, [2]], object)", "x[1].append(3)", "x.tolist()", "of objects"),
        Case("numpy.ndarray", "x = np.array(['ab', 'c'])", "x[1] = 'd'", _LAYOUT, "of text"),
        Case(
            "numpy.ndarray",
            "x = np.array(['ab', None], np.dtypes.StringDType(na_object=None))",
            "x[1] = 'd' * 50",
            "(x.tolist(), x.dtype)",
            "of variable text",
        ),
        Case(
            "numpy.ndarray",
            "x = np.array(['2026-01-01', 'NaT'], 'M8[D]')",
            "x[1] = '2026-01-02'",
            "(x.astype(str).tolist(), x.dtype.str)",
            "of dates",
        ),
        Case(
            "numpy.ndarray",
            "x = np.zeros(2, [('a', 'i4'), ('b', 'f8', 3)])",
            "x['b'][1] = 2",
            "(x.tolist(), x.dtype)",
            "structured",
        ),
        Case("numpy.ndarray", "x = np.array(5.0)", "x[()] = 6", "(x.tolist(), x.shape)", "without dimensions"),
        Case("numpy.ndarray", "x = np.arange(3, dtype='>i4')", "x[0] = 6", "(x.tolist(), x.dtype.str)", "big-endian"),
        Case(
            "numpy.ndarray",
            "class Named(np.ndarray): pass\nx = np.zeros(3).view(Named)\nx.name = 'a'",
            "x.name = 'b'",
            "(x.tolist(), getattr(x, 'name', None))",
            "subclass with an attribute",
        ),
        Case(
            "numpy.ma.MaskedArray",
            "x = np.ma.array([1, 2, 3], mask=[0, 1, 0])",
            "x[0] = np.ma.masked",
            "(x.data.tolist(), np.ma.getmaskarray(x).tolist())",
        ),
        Case("numpy.matrix", "x = np.matrix([[1, 2]])", "x[0, 0] = 5", "(x.tolist(), type(x).__name__)"),
        Case(
            "numpy.recarray", "x = np.rec.array([(1, 'a')], names='n,s')", "x.n[0] = 2", "(x.tolist(), x.dtype.names)"
        ),
        Case("numpy.memmap", "x = np.memmap('m', float, 'w+', shape=(4,))", "x[0] = 2", "x.tolist()"),
        Case("numpy.char.chararray", "x = np.char.array(['a', 'b'])", "x[0] = 'c'", "x.tolist()"),
        Case("numpy.random.Generator", "x = np.random.default_rng(1)", "x.random()", "x.bit_generator.state"),
        Case("numpy.random.RandomState", "x = np.random.RandomState(1)", "x.rand()", "x.get_state()"),
        Case("numpy.random.PCG64", "x = np.random.PCG64(1)", "x.advance(5)", "x.state"),
        Case("numpy.random.SeedSequence", "x = np.random.SeedSequence(5)", "x.spawn(1)", "x.state"),
        Case("numpy.float64", "x = np.float64(1.5)", "x = np.float64(2)", frozen=True),
        Case("numpy.datetime64", "x = np.datetime64('2026-01-01')", "x += 1", frozen=True),
        Case("numpy.void", "x = np.zeros(2, 'i4,f8')[1]", "x['f0'] = 3", "x.tolist()"),
        Case("numpy.dtype", "x = np.dtype([('a', 'i4')])", "x = np.dtype('f8')", frozen=True),
        Case("numpy.ufunc", "x = np.add", "x = np.multiply", "x.__name__", frozen=True),
        Case(
            "numpy.ufunc",
            "x = np.frompyfunc(lambda a: a + 1, 1, 1)",
            "x = np.frompyfunc(lambda a: a + 2, 1, 1)",
            "x(1)",
            "made from a function",
        ),
        Case("numpy.vectorize", "x = np.vectorize(lambda a: a + 1)", "x.otypes = 'd'", "(x([1]).tolist(), x.otypes)"),
        Case(
            "numpy.polynomial.Polynomial",
            "x = Polynomial([1, 2])",
            "x.coef[0] = 3",
            "(x.coef.tolist(), x.domain.tolist())",
        ),
        Case(
            "numpy.polynomial.Chebyshev",
            "x = Chebyshev([1, 2])",
            "x.coef[0] = 3",
            "(x.coef.tolist(), x.domain.tolist())",
        ),
        Case("numpy.poly1d", "x = np.poly1d([1, 2])", "x[0] = 3", "x.coeffs.tolist()"),
        Case("numpy.nditer", "x = np.nditer(np.arange(3))", "next(x); next(x)", "x.iterindex"),
        Case("numpy.flatiter", "x = np.arange(3).flat", "next(x)", "x.index"),
        Case("numpy.lib.npyio.NpzFile", "np.savez('n.npz', a=[1])\nx = np.load('n.npz')", "x.close()", "x.fid is None"),
    ),
)
