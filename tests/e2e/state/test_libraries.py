"""Behaviours 25 to 29: objects of pandas, matplotlib, seaborn, torch and scikit-learn."""

from story import Story, story


@story
def test_25_an_inplace_drop_is_undone() -> Story:
    """(25) `drop(inplace=True)` is undone."""
    return Story(
        setup="import pandas as pd; frame25 = pd.DataFrame({'a': [1, 2], 'b': [3., 4.]}); alias25 = [frame25]",
        change="frame25.drop(columns='a', inplace=True); frame25.rename(columns={'b': 'c'}, inplace=True)",
        check="list(frame25), alias25[0] is frame25, frame25.iloc[:, -1].tolist()",
        before="(['a', 'b'], True, [3.0, 4.0])",
        after="(['c'], True, [3.0, 4.0])",
        changes="alias25 frame25",
    )


@story
def test_25_more_inplace_methods_of_a_frame() -> Story:
    """(25) Other changes in place are undone: sort_values, set_index, a new column, attrs."""
    return Story(
        setup=(
            "import pandas as pd; table25 = pd.DataFrame({'k': ['b', 'a'], 'v': [1, 2]}); table25.attrs['unit'] = 'm'"
        ),
        change="table25.sort_values('k', inplace=True); table25.set_index('k', inplace=True); table25['w'] = 0; "
        "table25.attrs['unit'] = 's'",
        check="table25.to_dict('list'), table25.index.tolist(), table25.attrs",
        before="({'k': ['b', 'a'], 'v': [1, 2]}, [0, 1], {'unit': 'm'})",
        after="({'v': [2, 1], 'w': [0, 0]}, ['a', 'b'], {'unit': 's'})",
        changes="table25",
    )


@story
def test_29_refitting_a_model() -> Story:
    """(29) Fitting a model of scikit-learn anew is undone."""
    return Story(
        setup=(
            "import numpy as np; from sklearn.linear_model import LinearRegression; "
            "x29 = np.arange(4.).reshape(-1, 1)\n"
            "model29 = LinearRegression().fit(x29, 2 * x29[:, 0]); kept29 = {'best': model29}"
        ),
        change="model29.fit(x29, 3 * x29[:, 0]); pass",
        check=(
            "kept29['best'] is model29, np.round(model29.coef_, 6).tolist(), float(model29.predict([[2.]])[0].round(6))"
        ),
        before="(True, [2.0], 4.0)",
        after="(True, [3.0], 6.0)",
        changes="kept29 model29",
        needs=["sklearn.linear_model"],
    )


@story
def test_28_a_module_of_torch_and_its_optimiser_share_parameters() -> Story:
    """(28) A torch module and its optimiser share parameters."""
    return Story(
        setup=(
            "import torch\ntorch.manual_seed(0)\nmodel28 = torch.nn.Linear(2, 1)\n"
            "with torch.no_grad(): model28.weight.fill_(1.); model28.bias.fill_(0.)\n"
            "optimiser28 = torch.optim.SGD(model28.parameters(), lr=0.5, momentum=0.5)\n"
            "def step28():\n"
            "    optimiser28.zero_grad(); model28(torch.ones(1, 2)).sum().backward(); optimiser28.step()"
        ),
        change="step28()",
        check=(
            "optimiser28.param_groups[0]['params'][0] is model28.weight, model28.weight.tolist(), "
            "len(optimiser28.state_dict()['state'])"
        ),
        before="(True, [[1.0, 1.0]], 0)",
        after="(True, [[0.5, 0.5]], 2)",
        changes="model28 optimiser28",
        groups="model28 optimiser28",
        needs=["torch"],
    )


@story
def test_26_a_figure_and_its_axes_stay_linked() -> Story:
    """(26) A matplotlib figure and its axes stay linked."""
    return Story(
        setup="import matplotlib.pyplot as plt; figure26, axes26 = plt.subplots(); line26, = axes26.plot([1, 2])",
        change="axes26.plot([3, 4]); line26.set_label('first'); axes26.set_title('new')",
        check=(
            "figure26.axes[0] is axes26, axes26.lines[0] is line26, axes26.figure is figure26, len(axes26.lines), "
            "line26.get_label(), figure26.axes[0].get_title()"
        ),
        before="(True, True, True, 1, '_child0', '')",
        after="(True, True, True, 2, 'first', 'new')",
        changes="axes26 figure26 line26",
        groups="axes26 figure26 line26",
    )


@story
def test_27_axes_of_seaborn() -> Story:
    """(27) seaborn: the axes that a plot function returns."""
    return Story(
        setup=(
            "import pandas as pd, seaborn as sns, matplotlib.pyplot as plt; plt.figure()\n"
            "data27 = pd.DataFrame({'x': [1, 2, 3], 'y': [2, 4, 8], 'c': list('aab')})\n"
            "axes27 = sns.scatterplot(data=data27, x='x', y='y', hue='c')"
        ),
        change="axes27.set_title('new'); sns.lineplot(data=data27, x='x', y='y', ax=axes27)",
        check=(
            "axes27.get_title(), axes27.get_xlabel(), len(axes27.collections), "
            "axes27.get_legend().get_title().get_text()"
        ),
        before="('', 'x', 1, 'c')",
        after="('new', 'x', 2, '')",
        needs=["seaborn"],
    )


@story
def test_27_a_grid_of_seaborn() -> Story:
    """(27) seaborn: a grid, its figure and its axes stay linked."""
    return Story(
        setup=(
            "import pandas as pd, seaborn as sns\n"
            "table27 = pd.DataFrame({'x': [1, 2, 3], 'y': [2, 4, 8], 'c': list('aab')})\n"
            "grid27 = sns.relplot(data=table27, x='x', y='y', col='c'); panel27 = grid27.axes.flat[0]"
        ),
        change="panel27.set_title('new')",
        check="grid27.axes.flat[0] is panel27, panel27.figure is grid27.figure, grid27.axes.flat[0].get_title()",
        before="(True, True, 'c = a')",
        after="(True, True, 'new')",
        needs=["seaborn"],
    )
