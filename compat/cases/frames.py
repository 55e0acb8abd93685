"""Tables and labelled arrays: pandas, polars, pyarrow, dask, xarray, duckdb, h5py."""

from compat.case import Case, Library

PANDAS = Library(
    "pandas",
    "pandas",
    "import numpy as np\nimport pandas as pd\nfrom pandas.tseries.offsets import BDay",
    (
        Case("pandas.DataFrame", "x = pd.DataFrame({'a': range(1000), 'b': 1.5})", "x.loc[3, 'a'] = -1"),
        Case(
            "pandas.DataFrame",
            "x = pd.DataFrame({'a': [1, 2], 'b': ['u', None]})",
            "x['c'] = [[1], [2]]",
            form="new column",
        ),
        Case(
            "pandas.DataFrame",
            "x = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})",
            "x.drop(columns='a', inplace=True)",
            form="drop in place",
        ),
        Case(
            "pandas.DataFrame", "x = pd.DataFrame({'a': [[1], {'k': 2}]})", "x.loc[0, 'a'].append(5)", form="of objects"
        ),
        Case(
            "pandas.DataFrame",
            "x = pd.DataFrame({'a': [1, 2]}, index=pd.Index([5, 6], name='i'))",
            "x.index.name = 'j'",
            form="index is renamed",
        ),
        Case(
            "pandas.DataFrame",
            "x = pd.DataFrame({'a': [1, 2]})\nx.attrs['unit'] = 'm'",
            "x.attrs['unit'] = 'km'",
            "(x, x.attrs)",
            "attrs",
        ),
        Case(
            "pandas.DataFrame",
            "x = pd.DataFrame(np.zeros((2, 2)), columns=pd.MultiIndex.from_product([['a'], [1, 2]]))",
            "x.iloc[0, 0] = 1",
            form="many levels",
        ),
        Case(
            "pandas.DataFrame",
            "x = pd.DataFrame({'a': pd.array([1, None], 'Int64'), 'b': pd.Categorical(['u', 'v'])})",
            "x.loc[1, 'a'] = 2",
            form="extension types",
        ),
        Case("pandas.Series", "x = pd.Series([1.0, np.nan], name='s')", "x[1] = 2"),
        Case(
            "pandas.Series",
            "f = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})\nx = f['a']",
            "x.iloc[0] = 9",
            "(x, f)",
            "of a frame",
        ),
        Case("pandas.Series", "x = pd.Series(['a', None])", "x[1] = 'b'", form="of text"),
        Case(
            "pandas.Series",
            "x = pd.Series(pd.date_range('2026', periods=3, tz='Europe/Berlin'))",
            "x[0] += pd.Timedelta('1D')",
            form="of times",
        ),
        Case("pandas.Index", "x = pd.Index([1, 2], name='a')", "x.name = 'b'", frozen=True),
        Case("pandas.RangeIndex", "x = pd.RangeIndex(5)", "x = x[1:]", frozen=True),
        Case(
            "pandas.MultiIndex",
            "x = pd.MultiIndex.from_tuples([(1, 'a'), (2, 'b')])",
            "x.names = ['n', 's']",
            frozen=True,
        ),
        Case(
            "pandas.DatetimeIndex",
            "x = pd.date_range('2026', periods=3)",
            "x = x.shift(1)",
            "(x, x.freqstr)",
            frozen=True,
        ),
        Case("pandas.PeriodIndex", "x = pd.period_range('2026', periods=3, freq='M')", "x += 1", frozen=True),
        Case("pandas.TimedeltaIndex", "x = pd.to_timedelta(['1D', '2D'])", "x *= 2", frozen=True),
        Case("pandas.IntervalIndex", "x = pd.interval_range(0, 3)", "x = x[1:]", frozen=True),
        Case(
            "pandas.CategoricalIndex", "x = pd.CategoricalIndex(['a', 'b'])", "x = x.add_categories('c')", frozen=True
        ),
        Case(
            "pandas.Categorical", "x = pd.Categorical(['a', 'b', 'a'])", "x[0] = 'b'", "(list(x), list(x.categories))"
        ),
        Case(
            "pandas.CategoricalDtype",
            "x = pd.CategoricalDtype(['a'], ordered=True)",
            "x = pd.CategoricalDtype(['b'])",
            frozen=True,
        ),
        Case(
            "pandas.arrays.IntegerArray",
            "x = pd.array([1, None])",
            "x[1] = 2",
            "(x.to_numpy('f8', na_value=-1).tolist(), x.dtype)",
        ),
        Case("pandas.arrays.BooleanArray", "x = pd.array([True, None])", "x[1] = False", "x.astype(str).tolist()"),
        Case(
            "pandas.arrays.StringArray",
            "x = pd.array(['a', None], 'string[python]')",
            "x[1] = 'b'",
            "x.astype(object).tolist()[0], str(x[1])",
        ),
        Case(
            "pandas.arrays.ArrowStringArray",
            "x = pd.array(['a', None], 'string[pyarrow]')",
            "x[1] = 'b'",
            "x.astype(object).tolist()[0], str(x[1])",
        ),
        Case(
            "pandas.arrays.ArrowExtensionArray", "x = pd.array([1, None], 'int64[pyarrow]')", "x[1] = 2", "str(list(x))"
        ),
        Case(
            "pandas.arrays.SparseArray",
            "x = pd.arrays.SparseArray([0, 0, 1])",
            "x = pd.arrays.SparseArray([0, 2, 1])",
            "(np.asarray(x).tolist(), x.fill_value)",
        ),
        Case(
            "pandas.arrays.DatetimeArray",
            "x = pd.array(pd.to_datetime(['2026-01-01', None]))",
            "x[1] = pd.Timestamp('2027')",
            "x.astype(str).tolist()",
        ),
        Case("pandas.Timestamp", "x = pd.Timestamp('2026-01-01', tz='UTC')", "x += pd.Timedelta('1D')", frozen=True),
        Case("pandas.Timedelta", "x = pd.Timedelta('1D')", "x *= 2", frozen=True),
        Case("pandas.Period", "x = pd.Period('2026-01')", "x += 1", frozen=True),
        Case("pandas.Interval", "x = pd.Interval(0, 1)", "x += 1", frozen=True),
        Case("pandas.offsets.BusinessDay", "x = BDay(1)", "x = BDay(2)", frozen=True),
        Case("pandas.api.typing.NAType", "x = pd.NA", "x = None", "x is pd.NA", frozen=True),
        Case("pandas.api.typing.NaTType", "x = pd.NaT", "x = None", "x is pd.NaT", frozen=True),
        Case(
            "pandas.api.typing.DataFrameGroupBy",
            "f = pd.DataFrame({'k': [1, 1, 2], 'v': [1, 2, 3]})\nx = f.groupby('k')",
            "f.loc[0, 'v'] = 9",
            "(f, x.obj is f)",
        ),
        Case(
            "pandas.api.typing.Rolling",
            "f = pd.DataFrame({'v': [1.0, 2, 3]})\nx = f.rolling(2)",
            "x = f.rolling(3)",
            "x.sum()",
        ),
        Case(
            "pandas.api.typing.Resampler",
            "s = pd.Series([1.0, 2], pd.date_range('2026', periods=2))\nx = s.resample('2D')",
            "x = s.resample('1D')",
            "x.sum()",
        ),
        Case(
            "pandas.io.formats.style.Styler",
            "x = pd.DataFrame({'a': [1]}).style.set_uuid('u')",
            "x.format('{:.2f}')",
            "x.to_html()",
        ),
        Case(
            "pandas.Flags",
            "f = pd.DataFrame({'a': [1]})\nx = f.flags",
            "x.allows_duplicate_labels = False",
            "x.allows_duplicate_labels",
        ),
        Case("pandas.Grouper", "x = pd.Grouper(key='a')", "x.key = 'b'", "x.key"),
    ),
)

POLARS = Library(
    "polars",
    "polars",
    "import polars as pl",
    (
        Case(
            "polars.DataFrame",
            "x = pl.DataFrame({'a': [1, 2], 'b': ['u', None]})",
            "x[0, 'a'] = 9",
            "x.to_dict(as_series=False)",
        ),
        Case("polars.Series", "x = pl.Series('s', [1.5, None])", "x[1] = 2.5", "(x.name, x.to_list(), x.dtype)"),
        Case(
            "polars.LazyFrame",
            "x = pl.LazyFrame({'a': [1, 2]}).filter(pl.col('a') > 1)",
            "x = x.with_columns(b=1)",
            "x.collect().to_dict(as_series=False)",
        ),
        Case("polars.Expr", "x = pl.col('a') + 1", "x = x * 2", "str(x)"),
        Case(
            "polars.Expr",
            "x = pl.col('a').map_elements(lambda v: v + 1, pl.Int64)",
            "x = x * 2",
            "pl.DataFrame({'a': [1]}).select(x).to_series().to_list()",
            "with a function",
        ),
        Case("polars.Schema", "x = pl.Schema({'a': pl.Int64})", "x['b'] = pl.String()", "dict(x)"),
        Case("polars.Enum", "x = pl.Enum(['a'])", "x = pl.Enum(['b'])", frozen=True),
        Case(
            "polars.dataframe.group_by.GroupBy",
            "x = pl.DataFrame({'k': [1, 1], 'v': [1, 2]}).group_by('k')",
            "x.extra = 1",
            "(x.sum().to_dict(as_series=False), getattr(x, 'extra', 0))",
        ),
        Case(
            "polars.SQLContext",
            "x = pl.SQLContext(t=pl.DataFrame({'a': [1]}))",
            "x.register('u', pl.DataFrame({'a': [2]}))",
            "x.tables()",
        ),
    ),
)

ARROW = Library(
    "pyarrow",
    "pyarrow",
    "import pyarrow as pa\nimport pyarrow.compute as pc\nimport pyarrow.parquet as pq\nfrom pyarrow import dataset",
    (
        Case("pyarrow.Table", "x = pa.table({'a': [1, 2], 'b': ['u', None]})", "x = x.append_column('c', [[1, 2]])"),
        Case("pyarrow.RecordBatch", "x = pa.record_batch({'a': [1, 2]})", "x = x.slice(1)"),
        Case("pyarrow.Array", "x = pa.array([1, None])", "x = pa.array([1, 2])"),
        Case(
            "pyarrow.Array",
            "b = bytearray(16)\nx = pa.Array.from_buffers(pa.int64(), 2, [None, pa.py_buffer(b)])",
            "b[0] = 1",
            "(x.to_pylist(), bytes(b))",
            "memory of a bytearray",
        ),
        Case("pyarrow.ChunkedArray", "x = pa.chunked_array([[1], [2]])", "x = x.slice(1)"),
        Case("pyarrow.DictionaryArray", "x = pa.array(['a', 'b', 'a']).dictionary_encode()", "x = x.slice(1)"),
        Case("pyarrow.StructArray", "x = pa.array([{'a': 1}])", "x = pa.array([{'a': 2}])"),
        Case(
            "pyarrow.Schema", "x = pa.schema([('a', pa.int64())])", "x = x.with_metadata({'k': 'v'})", "(x, x.metadata)"
        ),
        Case("pyarrow.Field", "x = pa.field('a', pa.int64())", "x = x.with_nullable(False)"),
        Case("pyarrow.DataType", "x = pa.list_(pa.int64())", "x = pa.float64()"),
        Case("pyarrow.Scalar", "x = pa.scalar(1)", "x = pa.scalar('a')"),
        Case("pyarrow.Buffer", "x = pa.py_buffer(b'abc')", "x = pa.py_buffer(b'abd')"),
        Case(
            "pyarrow.Tensor",
            "import numpy as np\nx = pa.Tensor.from_numpy(np.zeros(3))",
            "x = pa.Tensor.from_numpy(np.ones(3))",
            "x.to_numpy().tolist()",
        ),
        Case("pyarrow.compute.Expression", "x = pc.field('a') > 1", "x = x & (pc.field('b') == 2)", "str(x)"),
        Case(
            "pyarrow.parquet.ParquetFile",
            "pq.write_table(pa.table({'a': [1]}), 'p')\nx = pq.ParquetFile('p')",
            "x.close()",
            "x.closed",
        ),
        Case(
            "pyarrow.dataset.InMemoryDataset",
            "x = dataset.dataset(pa.table({'a': [1]}))",
            "x = dataset.dataset(pa.table({'a': [2]}))",
            "x.to_table()",
        ),
    ),
)

LARGE = Library(
    "dask",
    "dask",
    """
import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
""".strip(),
    (
        Case("dask.array.Array", "x = da.ones((4, 4), chunks=2)", "x[0, 0] = 5", "x.compute().tolist()"),
        Case(
            "dask.dataframe.DataFrame",
            "x = dd.from_pandas(pd.DataFrame({'a': range(4)}), npartitions=2)",
            "x['b'] = x.a + 1",
            "x.compute()",
        ),
        Case(
            "dask.dataframe.Series",
            "x = dd.from_pandas(pd.Series(range(4)), npartitions=2)",
            "x = x * 2",
            "x.compute()",
        ),
        Case(
            "dask.bag.Bag",
            "x = db.from_sequence([1, 2, 3], npartitions=2)",
            "x = x.map(lambda v: v + 1)",
            "x.compute(scheduler='sync')",
        ),
        Case(
            "dask.delayed.Delayed", "x = dask.delayed(lambda v: v + 1)(1)", "x = x + 1", "x.compute(scheduler='sync')"
        ),
    ),
)

LABELLED = Library(
    "xarray",
    "xarray",
    "import numpy as np\nimport xarray as xr",
    (
        Case(
            "xarray.DataArray",
            "x = xr.DataArray(np.zeros((2, 2)), dims=('a', 'b'), coords={'a': [1, 2]})",
            "x[0, 0] = 5",
            "x.to_dict()",
        ),
        Case(
            "xarray.Dataset",
            "x = xr.Dataset({'v': ('t', [1.0, 2])}, attrs={'k': 1})",
            "x['w'] = x.v * 2",
            "x.to_dict()",
        ),
        Case("xarray.Variable", "x = xr.Variable('t', [1, 2])", "x[0] = 5", "x.to_dict()"),
        Case(
            "xarray.DataTree",
            "x = xr.DataTree.from_dict({'/a': xr.Dataset({'v': 1})})",
            "x['a/w'] = 2",
            "{k: v.to_dict() for k, v in x.to_dict().items()}",
        ),
    ),
)

STORES = Library(
    "duckdb, h5py",
    "duckdb",
    "import duckdb\nimport h5py\nimport numpy as np",
    (
        Case(
            "duckdb.DuckDBPyConnection",
            "x = duckdb.connect()",
            "_ = x.execute('create table t (a int)')",
            "x.execute('show tables').fetchall()",
        ),
        Case("duckdb.DuckDBPyRelation", "x = duckdb.sql('select 1 a')", "x = duckdb.sql('select 2 a')", "x.fetchall()"),
        Case("h5py.File", "x = h5py.File('f.h5', 'w')", "x['a'] = [1]", "list(x)"),
        Case(
            "h5py.Dataset",
            "f = h5py.File('f.h5', 'w')\nx = f.create_dataset('d', data=[1, 2])",
            "x[0] = 5",
            "x[:].tolist()",
        ),
    ),
)
