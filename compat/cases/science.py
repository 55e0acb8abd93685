"""scipy, sympy, astropy, networkx, shapely."""

from compat.case import Case, Library


def _sparse(name: str, change: str) -> Case:
    view = "(x.toarray().tolist(), x.format, x.dtype.str)"
    return Case(f"scipy.sparse.{name}", f"x = sparse.{name}(np.eye(4))", change, view)


SCIPY = Library(
    "scipy",
    "scipy",
    """
import numpy as np
from scipy import integrate, interpolate, optimize, signal, sparse, spatial, stats
from scipy.sparse.linalg import LinearOperator, aslinearoperator, splu
from scipy.spatial.transform import Rotation
P = np.random.default_rng(0).random((20, 2))
T = np.arange(5.0)
""".strip(),
    (
        _sparse("csr_array", "x.data[0] = 5"),
        _sparse("csc_array", "x.data[0] = 5"),
        _sparse("coo_array", "x.data[0] = 5"),
        _sparse("bsr_array", "x.data[0] = 5"),
        _sparse("dia_array", "x.data[0, 0] = 5"),
        _sparse("lil_array", "x[0, 1] = 5"),
        _sparse("dok_array", "x[0, 1] = 5"),
        _sparse("csr_matrix", "x[1, 1] = 5"),
        Case(
            "scipy.sparse.linalg.SuperLU",
            "x = splu(sparse.csc_array(np.eye(2)))",
            "x = splu(sparse.csc_array(2 * np.eye(2)))",
            "x.solve(np.ones(2)).tolist()",
        ),
        Case(
            "scipy.sparse.linalg.LinearOperator",
            "x = LinearOperator((2, 2), matvec=lambda v: 2 * v)",
            "x = x * 2",
            "x.matvec(np.ones(2)).tolist()",
        ),
        Case(
            "scipy.sparse.linalg.LinearOperator",
            "x = aslinearoperator(np.eye(2))",
            "x.A[0, 0] = 5",
            "x.matvec(np.ones(2)).tolist()",
            "of a matrix",
        ),
        Case(
            "scipy.spatial.KDTree",
            "x = spatial.KDTree(P)",
            "x = spatial.KDTree(P[:9])",
            "x.query(P[:3])[0].tolist(), x.n",
        ),
        Case(
            "scipy.spatial.cKDTree",
            "x = spatial.cKDTree(P)",
            "x = spatial.cKDTree(P[:9])",
            "x.query(P[:3])[0].tolist(), x.n",
        ),
        Case(
            "scipy.spatial.Delaunay", "x = spatial.Delaunay(P)", "x = spatial.Delaunay(P[:9])", "x.simplices.tolist()"
        ),
        Case(
            "scipy.spatial.ConvexHull",
            "x = spatial.ConvexHull(P)",
            "x = spatial.ConvexHull(P[:9])",
            "x.vertices.tolist()",
        ),
        Case("scipy.spatial.Voronoi", "x = spatial.Voronoi(P)", "x = spatial.Voronoi(P[:9])", "x.vertices.tolist()"),
        Case(
            "scipy.spatial.transform.Rotation", "x = Rotation.from_euler('z', 0.5)", "x = x * x", "x.as_quat().tolist()"
        ),
        Case(
            "scipy.interpolate.CubicSpline",
            "x = interpolate.CubicSpline(T, T**2)",
            "x.c[0, 0] = 5",
            "x(T).tolist(), x.c.tolist()",
        ),
        Case("scipy.interpolate.BSpline", "x = interpolate.make_interp_spline(T, T**2)", "x.c[0] = 5", "x(T).tolist()"),
        Case("scipy.interpolate.interp1d", "x = interpolate.interp1d(T, T**2)", "x.y = T", "x.y.tolist()"),
        Case(
            "scipy.interpolate.RegularGridInterpolator",
            "x = interpolate.RegularGridInterpolator((T,), T**2)",
            "x.values[1] = 9",
            "x([1.5]).tolist()",
        ),
        Case(
            "scipy.interpolate.RBFInterpolator",
            "x = interpolate.RBFInterpolator(P, P[:, 0])",
            "x.d[0] = 9",
            "x.d.tolist(), x(P[:2]).tolist()",
        ),
        Case(
            "scipy.stats.distributions.rv_frozen",
            "x = stats.norm(loc=1, scale=2)",
            "x.kwds['scale'] = 3",
            "x.mean(), x.std()",
        ),
        Case("scipy.stats.rv_continuous", "x = stats.gamma", "x = stats.beta", "x.name"),
        Case(
            "scipy.stats.rv_discrete",
            "x = stats.rv_discrete(values=([1, 2], [0.5, 0.5]))",
            "x = stats.rv_discrete(values=([1, 2], [0.1, 0.9]))",
            "x.mean()",
        ),
        Case("scipy.stats.gaussian_kde", "x = stats.gaussian_kde(P.T)", "x.set_bandwidth(0.1)", "x(P[:3].T).tolist()"),
        Case(
            "scipy.stats._multivariate.multivariate_normal_frozen",
            "x = stats.multivariate_normal([0, 0])",
            "x = stats.multivariate_normal([1, 1])",
            "float(x.pdf([0, 0]))",
        ),
        Case(
            "scipy.optimize.OptimizeResult",
            "x = optimize.minimize(lambda v: (v[0] - 1) ** 2, [0.0])",
            "x.note = 'n'",
            "x.x.tolist(), x.get('note')",
        ),
        Case("scipy.optimize.Bounds", "x = optimize.Bounds([0], [1])", "x.ub[0] = 2", "x.ub.tolist()"),
        Case(
            "scipy.integrate.RK45", "x = integrate.RK45(lambda t, y: -y, 0, [1.0], 9)", "x.step()", "x.t, x.y.tolist()"
        ),
        Case(
            "scipy.integrate.OdeSolution",
            "x = integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True).sol",
            "x.t_max = 2",
            "x(0.5).tolist(), x.t_max",
        ),
        Case(
            "scipy.signal.TransferFunction",
            "x = signal.TransferFunction([1.0], [1.0, 1])",
            "x.num = [2.0]",
            "x.num.tolist(), x.den.tolist()",
        ),
        Case(
            "scipy.signal.ShortTimeFFT",
            "x = signal.ShortTimeFFT(np.ones(4), 2, 1.0)",
            "x.fs = 2.0",
            "x.fs, x.win.tolist()",
        ),
    ),
)

SYMPY = Library(
    "sympy",
    "sympy",
    "import sympy as sp\na, b = sp.symbols('a b')\nf = sp.Function('f')",
    (
        Case("sympy.Symbol", "x = sp.Symbol('a', positive=True)", "x = sp.Symbol('b')", "(x, x.assumptions0)"),
        Case("sympy.Expr", "x = sp.sin(a) ** 2 + b / 3", "x = x.diff(a)"),
        Case("sympy.Dummy", "x = sp.Dummy('d')", "x = sp.Dummy('e')", "x.name"),
        Case("sympy.Rational", "x = sp.Rational(1, 3)", "x += 1"),
        Case("sympy.core.numbers.Pi", "x = sp.pi", "x = sp.E", "(x, x is sp.pi)"),
        Case("sympy.Matrix", "x = sp.Matrix([[a, 1], [0, b]])", "x[0, 1] = 5"),
        Case("sympy.ImmutableMatrix", "x = sp.ImmutableMatrix([[a, 1]])", "x = x * 2"),
        Case("sympy.Poly", "x = sp.Poly(a**2 + b, a)", "x = x * 2"),
        Case("sympy.Eq", "x = sp.Eq(a, b)", "x = sp.Eq(a, 1)"),
        Case("sympy.Piecewise", "x = sp.Piecewise((a, a > 0), (0, True))", "x = x + 1"),
        Case("sympy.core.function.UndefinedFunction", "x = sp.Function('g')", "x = sp.Function('h')"),
        Case("sympy.core.function.AppliedUndef", "x = f(a)", "x = x.diff(a)"),
        Case("sympy.Lambda", "x = sp.Lambda(a, a + 1)", "x = sp.Lambda(a, a + 2)"),
        Case("sympy.Interval", "x = sp.Interval(0, 1)", "x = x + sp.Interval(2, 3)"),
        Case("sympy.Integral", "x = sp.Integral(a, (a, 0, 1))", "x = x + 1"),
        Case("types.FunctionType", "x = sp.lambdify(a, a + 1)", "x = sp.lambdify(a, a + 2)", "x(1)", "lambdify"),
    ),
)

ASTROPY = Library(
    "astropy",
    "astropy",
    """
import numpy as np
from astropy import cosmology, modeling, units as u
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.modeling import models
from astropy.nddata import CCDData
from astropy.table import QTable, Table
from astropy.time import Time
from astropy.timeseries import TimeSeries
from astropy.wcs import WCS
""".strip(),
    (
        Case(
            "astropy.units.Quantity", "x = np.arange(3.0) * u.m", "x[0] = 5 * u.km", "(x.value.tolist(), str(x.unit))"
        ),
        Case("astropy.units.CompositeUnit", "x = u.m / u.s", "x = x**2", "x.to_string()", frozen=True),
        Case("astropy.units.IrreducibleUnit", "x = u.m", "x = u.s", frozen=True),
        Case(
            "astropy.table.Table",
            "x = Table({'a': [1, 2]}, meta={'k': 1})",
            "x['b'] = ['u', 'v']",
            "({c: x[c].tolist() for c in x.colnames}, dict(x.meta))",
        ),
        Case(
            "astropy.table.QTable",
            "x = QTable({'a': [1.0, 2] * u.m})",
            "x['a'][0] = 5 * u.m",
            "(x['a'].value.tolist(), str(x['a'].unit))",
        ),
        Case("astropy.table.Column", "x = Table({'a': [1, 2]})['a']", "x[0] = 5", "(x.tolist(), x.name)"),
        Case(
            "astropy.time.Time",
            "x = Time(['2026-01-01', '2026-01-02'])",
            "x[0] = '2027-01-01'",
            "(x.isot.tolist(), x.scale)",
        ),
        Case(
            "astropy.timeseries.TimeSeries",
            "x = TimeSeries(time=['2026-01-01'], data={'a': [1]})",
            "x['a'][0] = 2",
            "(x.time.isot.tolist(), x['a'].tolist())",
        ),
        Case(
            "astropy.coordinates.SkyCoord",
            "x = SkyCoord([1.0, 2], [3.0, 4], unit='deg')",
            "x[0] = SkyCoord(5, 6, unit='deg')",
            "(x.ra.deg.tolist(), x.dec.deg.tolist(), x.frame.name)",
        ),
        Case(
            "astropy.coordinates.Angle",
            "x = SkyCoord([1.0, 2], [3.0, 4], unit='deg').ra",
            "x = x * 2",
            "x.deg.tolist()",
        ),
        Case(
            "astropy.io.fits.HDUList",
            "x = fits.HDUList([fits.PrimaryHDU(np.zeros(3))])",
            "x[0].data[0] = 5",
            "x[0].data.tolist()",
        ),
        Case("astropy.io.fits.Header", "x = fits.Header({'A': 1})", "x['B'] = 2", "dict(x)"),
        Case("astropy.wcs.WCS", "x = WCS(naxis=2)", "x.wcs.crval = [1, 2]", "x.wcs.crval.tolist()"),
        Case(
            "astropy.modeling.models.Gaussian1D",
            "x = models.Gaussian1D(1, 2, 3)",
            "x.mean = 5",
            "x.parameters.tolist()",
        ),
        Case(
            "astropy.modeling.CompoundModel",
            "x = models.Gaussian1D() + models.Const1D(1)",
            "x.amplitude_1 = 5",
            "x.parameters.tolist()",
        ),
        Case(
            "astropy.cosmology.FlatLambdaCDM",
            "x = cosmology.FlatLambdaCDM(70, 0.3, name='m')",
            "x = x.clone(H0=71)",
            "(float(x.H0.value), x.Om0)",
        ),
        Case(
            "astropy.nddata.CCDData",
            "x = CCDData(np.zeros(3), unit='adu')",
            "x.data[0] = 5",
            "(x.data.tolist(), str(x.unit))",
        ),
    ),
)

NETWORKX = Library(
    "networkx",
    "networkx",
    "import networkx as nx",
    (
        Case("networkx.Graph", "x = nx.path_graph(4)", "x.add_edge(0, 3, w=2)", "sorted(x.edges(data='w'), key=str)"),
        Case(
            "networkx.DiGraph",
            "x = nx.DiGraph([(1, 2)])",
            "x.nodes[1]['c'] = 'red'",
            "dict(x.nodes(data=True)), list(x.edges)",
        ),
        Case("networkx.MultiGraph", "x = nx.MultiGraph([(1, 2), (1, 2)])", "x.remove_edge(1, 2)", "list(x.edges)"),
        Case("networkx.MultiDiGraph", "x = nx.MultiDiGraph([(1, 2), (2, 1)])", "_ = x.add_edge(1, 2)", "list(x.edges)"),
        Case(
            "networkx.Graph",
            "g = nx.path_graph(4)\nx = g.subgraph([0, 1])",
            "g.remove_edge(0, 1)",
            "list(x.edges), list(g.edges)",
            "a view of another",
        ),
        Case(
            "networkx.classes.reportviews.DegreeView",
            "g = nx.path_graph(3)\nx = g.degree",
            "g.add_edge(0, 2)",
            "dict(x)",
        ),
        Case(
            "networkx.classes.reportviews.EdgeView",
            "g = nx.path_graph(3)\nx = g.edges",
            "g.add_edge(0, 2)",
            "list(x), list(g.edges)",
        ),
        Case(
            "networkx.PlanarEmbedding",
            "x = nx.check_planarity(nx.path_graph(3))[1]",
            "x.graph['k'] = 1",
            "list(x.edges), x.graph",
        ),
    ),
)

SHAPELY = Library(
    "shapely",
    "shapely",
    "import shapely\nfrom shapely.geometry import MultiPoint, Point, Polygon",
    (
        Case("shapely.Point", "x = Point(1, 2)", "x = x.buffer(1, 1)", frozen=True),
        Case("shapely.Polygon", "x = Polygon([(0, 0), (1, 0), (1, 1)])", "x = x.convex_hull.buffer(1, 1)", frozen=True),
        Case(
            "shapely.STRtree",
            "x = shapely.STRtree([Point(0, 0), Point(1, 1)])",
            "x = shapely.STRtree([Point(2, 2)])",
            "x.geometries.tolist()",
        ),
    ),
)
