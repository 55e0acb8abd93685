"""Figures: matplotlib, seaborn, plotly, bokeh, altair."""

from compat.case import Case, Library

_LINES = "[line.get_ydata().tolist() for line in x.lines]"
_FIGURE = "[(a.get_title(), [line.get_ydata().tolist() for line in a.lines]) for a in x.axes]"

MATPLOTLIB = Library(
    "matplotlib",
    "matplotlib",
    """
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import animation, colors, gridspec, lines, patches, path, text, transforms
from matplotlib.figure import Figure
""".strip(),
    (
        Case(
            "matplotlib.figure.Figure",
            "x, ax = plt.subplots()\n_ = ax.plot([1, 2])",
            "_ = ax.set_title('t')",
            f"({_FIGURE}, ax.figure is x)",
        ),
        Case(
            "matplotlib.figure.Figure",
            "x = Figure()\n_ = x.add_subplot().plot([1, 2])",
            "x.axes[0].set_title('t')",
            _FIGURE,
            "without pyplot",
        ),
        Case(
            "matplotlib.axes.Axes",
            "f, x = plt.subplots()\n_ = x.plot([1, 2])",
            "_ = x.plot([3, 4])",
            f"({_LINES}, x.figure is f)",
        ),
        Case(
            "matplotlib.axes.Axes",
            "x = plt.figure().add_subplot(projection='polar')",
            "_ = x.plot([3, 4])",
            _LINES,
            "polar",
        ),
        Case(
            "mpl_toolkits.mplot3d.Axes3D",
            "x = plt.figure().add_subplot(projection='3d')",
            "_ = x.plot([1, 2], [1, 2], [1, 2])",
            "len(x.lines)",
        ),
        Case(
            "numpy.ndarray",
            "f, x = plt.subplots(2, 2)",
            "_ = x[0, 1].set_title('t')",
            "[a.get_title() for a in x.flat], x[0, 0].figure is f",
            "of axes",
        ),
        Case(
            "matplotlib.lines.Line2D",
            "f, ax = plt.subplots()\nx, = ax.plot([1, 2])",
            "x.set_color('red')",
            "(x.get_ydata().tolist(), x.get_color())",
        ),
        Case(
            "matplotlib.collections.PathCollection",
            "x = plt.scatter([1, 2], [3, 4])",
            "x.set_offsets([[5, 6]])",
            "x.get_offsets().tolist()",
        ),
        Case(
            "matplotlib.container.BarContainer",
            "x = plt.bar([1, 2], [3, 4])",
            "_ = x[0].set_height(9)",
            "[p.get_height() for p in x]",
        ),
        Case(
            "matplotlib.image.AxesImage",
            "x = plt.imshow(np.zeros((2, 2)))",
            "x.set_data(np.ones((2, 2)))",
            "x.get_array().tolist()",
        ),
        Case("matplotlib.text.Text", "x = plt.text(0, 0, 'a')", "x.set_text('b')", "x.get_text()"),
        Case(
            "matplotlib.legend.Legend",
            "_ = plt.plot([1], label='a')\nx = plt.legend()",
            "_ = x.set_title('t')",
            "x.get_title().get_text()",
        ),
        Case(
            "matplotlib.colorbar.Colorbar",
            "x = plt.colorbar(plt.imshow(np.eye(2)))",
            "x.set_label('l')",
            "x.ax.get_ylabel()",
        ),
        Case(
            "matplotlib.patches.Rectangle",
            "x = patches.Rectangle((0, 0), 1, 2)",
            "x.set_width(5)",
            "x.get_width(), x.get_height()",
        ),
        Case("matplotlib.path.Path", "x = path.Path([[0, 0], [1, 1]])", "x.vertices[0, 0] = 5", "x.vertices.tolist()"),
        Case(
            "matplotlib.transforms.Affine2D",
            "x = transforms.Affine2D().rotate(1)",
            "_ = x.scale(2)",
            "x.get_matrix().tolist()",
        ),
        Case("matplotlib.gridspec.GridSpec", "x = gridspec.GridSpec(2, 2)", "x.update(left=0.2)", "(x.nrows, x.left)"),
        Case("matplotlib.colors.Normalize", "x = colors.Normalize(0, 1)", "x.vmax = 2", "(x.vmin, x.vmax)"),
        Case(
            "matplotlib.colors.ListedColormap", "x = colors.ListedColormap(['r', 'g'])", "x.name = 'n'", "x.name, x(0)"
        ),
        Case(
            "matplotlib.animation.FuncAnimation",
            "f, ax = plt.subplots()\nx = animation.FuncAnimation(f, lambda i: [], frames=2)",
            "x._interval = 5",
            "x._interval",
        ),
        Case(
            "matplotlib.RcParams",
            "x = mpl.rcParams\nx['lines.linewidth'] = 2",
            "x['lines.linewidth'] = 7",
            "x['lines.linewidth'], mpl.rcParams['lines.linewidth']",
        ),
    ),
)

SEABORN = Library(
    "seaborn",
    "seaborn",
    """
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
import seaborn.objects as so
f = pd.DataFrame({'a': [1.0, 2, 3, 4], 'b': [4.0, 3, 2, 1.5], 'k': list('uuvv')})
""".strip(),
    (
        Case(
            "seaborn.FacetGrid",
            "x = sns.FacetGrid(f, col='k')",
            "_ = x.set_titles('T {col_name}')",
            "[a.get_title() for a in x.axes.flat]",
        ),
        Case(
            "seaborn.PairGrid",
            "x = sns.pairplot(f)",
            "_ = x.axes[0, 0].set_title('t')",
            "[a.get_title() for a in x.axes.flat]",
        ),
        Case(
            "seaborn.JointGrid",
            "x = sns.JointGrid(data=f, x='a', y='b')",
            "_ = x.ax_joint.set_title('t')",
            "x.ax_joint.get_title()",
        ),
        Case(
            "seaborn.matrix.ClusterGrid",
            "x = sns.clustermap(f[['a', 'b']])",
            "_ = x.ax_heatmap.set_title('t')",
            "x.ax_heatmap.get_title(), x.data2d",
        ),
        Case("seaborn.objects.Plot", "x = so.Plot(f, 'a', 'b')", "x = x.add(so.Dot())", "len(x._layers)"),
        Case(
            "matplotlib.axes.Axes",
            "x = sns.histplot(f, x='a', hue='k', ax=plt.figure().add_subplot())",
            "_ = x.set_title('t')",
            "(x.get_title(), len(x.patches))",
            "histplot",
        ),
    ),
)

PLOTLY = Library(
    "plotly",
    "plotly",
    "import json\nimport plotly.express as px\nimport plotly.graph_objects as go",
    (
        Case(
            "plotly.graph_objects.Figure",
            "x = px.scatter(x=[1, 2], y=[3, 4])",
            "x.update_layout(title='t')",
            "json.dumps(json.loads(x.to_json()), sort_keys=True)",
        ),
        Case(
            "plotly.graph_objects.Figure",
            "x = go.Figure(go.Bar(y=[1]))",
            "x.data[0].y = [2]",
            "json.dumps(json.loads(x.to_json()), sort_keys=True)",
            "a trace changes",
        ),
        Case(
            "plotly.graph_objects.Scatter",
            "x = go.Scatter(y=[1, 2])",
            "x.mode = 'lines'",
            "sorted(x.to_plotly_json().items())",
        ),
        Case("plotly.graph_objects.Layout", "x = go.Layout(title='a')", "x.title = 'b'", "x.to_plotly_json()"),
    ),
)

BOKEH = Library(
    "bokeh",
    "bokeh",
    """
from bokeh.document import Document
from bokeh.layouts import row
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure
""".strip(),
    (
        Case(
            "bokeh.plotting.figure",
            "x = figure(title='a')\n_ = x.line([1, 2], [3, 4])",
            "x.title.text = 'b'",
            "x.title.text, len(x.renderers)",
        ),
        Case(
            "bokeh.models.ColumnDataSource", "x = ColumnDataSource({'a': [1, 2]})", "x.data['a'][0] = 5", "dict(x.data)"
        ),
        Case("bokeh.models.HoverTool", "x = HoverTool()", "x.mode = 'vline'", "x.mode"),
        Case("bokeh.models.Row", "x = row(figure(), figure())", "x.spacing = 9", "x.spacing, len(x.children)"),
        Case(
            "bokeh.document.Document",
            "x = Document()\nx.add_root(ColumnDataSource({'a': [1]}))",
            "x.title = 't'",
            "x.title, len(x.roots)",
        ),
    ),
)

ALTAIR = Library(
    "altair",
    "altair",
    "import altair as alt\nimport pandas as pd\nf = pd.DataFrame({'a': [1], 'b': [2]})",
    (
        Case("altair.Chart", "x = alt.Chart(f).mark_bar().encode(x='a', y='b')", "x.title = 't'", "x.to_dict()"),
        Case(
            "altair.LayerChart",
            "c = alt.Chart(f).encode(x='a', y='b')\nx = c.mark_bar() + c.mark_line()",
            "x.title = 't'",
            "x.to_dict()['layer'], x.title is alt.Undefined",
        ),
    ),
)
