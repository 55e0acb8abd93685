"""Behaviours 31 and 33: state of the process that no variable refers to."""

import random

from story import Story, story

_GLOBAL = random.Random(31)
_GLOBAL_DRAWS = [round(_GLOBAL.random(), 6) for _ in range(2)]


@story
def test_31_the_global_generator_of_random() -> Story:
    """(31) The global state of `random`."""
    return Story(
        setup="import copy, random; random.seed(31)",
        change="drawn31 = random.random()",
        check="round(copy.deepcopy(random._inst).random(), 6)",
        before=repr(_GLOBAL_DRAWS[0]),
        after=repr(_GLOBAL_DRAWS[1]),
    )


@story
def test_31_the_global_generator_of_numpy() -> Story:
    """(31) The global state of `numpy.random`."""
    return Story(
        setup="import copy, numpy as np; np.random.seed(31)",
        change="drawn31n = np.random.random()",
        check="round(copy.deepcopy(np.random.mtrand._rand).random_sample(), 6)",
        before="0.286054",
        after="0.958106",
    )


@story
def test_31_the_global_generator_of_torch() -> Story:
    """(31) The global state of torch's generator."""
    return Story(
        setup="import torch; torch.manual_seed(31)",
        change="drawn31t = torch.rand(1)",
        check="round(torch.rand(1, generator=torch.Generator().set_state(torch.get_rng_state())).item(), 4)",
        before="0.2298",
        after="0.4218",
        needs=["torch"],
    )


@story
def test_33_the_working_directory() -> Story:
    """(33) The working directory."""
    return Story(
        setup="import os; os.chdir('/usr')",
        change="os.chdir('/'); moved33 = True",
        check="os.getcwd()",
        before="'/usr'",
        after="'/'",
    )


@story
def test_33_the_environment() -> Story:
    """(33) The environment: variables set, changed and unset."""
    return Story(
        setup="import os; os.environ['BANYAN33'] = 'old'; os.environ['BANYAN33_GONE'] = 'here'",
        change="os.environ['BANYAN33'] = 'new'; del os.environ['BANYAN33_GONE']; set33 = True\n%env BANYAN33_MORE=1",
        check="[os.environ.get(name) for name in ('BANYAN33', 'BANYAN33_GONE', 'BANYAN33_MORE')]",
        before="['old', 'here', None]",
        after="['new', None, '1']",
    )


@story
def test_33_settings_of_matplotlib() -> Story:
    """(33) Attributes of modules, such as matplotlib's `rcParams`."""
    return Story(
        setup="import matplotlib as mpl; mpl.rcParams['lines.linewidth'] = 2.5",
        change="mpl.rcParams['lines.linewidth'] = 7.5; styled33 = True",
        check="mpl.rcParams['lines.linewidth']",
        before="2.5",
        after="7.5",
    )


@story
def test_33_options_of_pandas_and_numpy() -> Story:
    """(33) Module attributes: the options of pandas, and how numpy prints."""
    return Story(
        setup="import numpy as np, pandas as pd; pd.options.display.max_rows = 33; np.set_printoptions(precision=3)",
        change="pd.options.display.max_rows = 7; np.set_printoptions(precision=5); options33 = True",
        check="pd.options.display.max_rows, np.get_printoptions()['precision']",
        before="(33, 3)",
        after="(7, 5)",
    )


@story
def test_33_filters_of_warnings() -> Story:
    """(33) Module attributes: the filters of `warnings`."""
    return Story(
        setup="import warnings; warnings.filterwarnings('ignore', message='b33')",
        change="warnings.filterwarnings('error', message='b33'); filtered33 = True",
        check="next(row[0] for row in warnings.filters if row[1] and row[1].pattern == 'b33')",
        before="'ignore'",
        after="'error'",
    )


@story
def test_33_an_attribute_that_a_cell_set_on_a_module() -> Story:
    """(33) Module attributes: one that a cell set, and `sys.path`."""
    return Story(
        setup="import string, sys; string.banyan33 = [1]",
        change="string.banyan33.append(2); sys.path.append('/banyan33'); patched33 = True",
        check="string.banyan33, '/banyan33' in sys.path",
        before="([1], False)",
        after="([1, 2], True)",
    )
