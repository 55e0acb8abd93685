"""The cases by field. The texts need their libraries only when they are run."""

from compat.case import Library
from compat.cases import builtin, frames, images, learning, numeric, plots, science, stdlib, text, torch

LIBRARIES: tuple[Library, ...] = (
    builtin.PYTHON,
    builtin.NOTEBOOK,
    stdlib.DATA,
    stdlib.SYSTEM,
    numeric.NUMPY,
    science.SCIPY,
    frames.PANDAS,
    frames.POLARS,
    frames.ARROW,
    frames.LARGE,
    frames.LABELLED,
    frames.STORES,
    plots.MATPLOTLIB,
    plots.SEABORN,
    plots.PLOTLY,
    plots.BOKEH,
    plots.ALTAIR,
    learning.SKLEARN,
    learning.BOOSTING,
    learning.STATSMODELS,
    science.NETWORKX,
    text.NLTK,
    text.GENSIM,
    text.TOKENIZERS,
    images.PILLOW,
    images.OPENCV,
    images.SKIMAGE,
    science.SYMPY,
    science.ASTROPY,
    science.SHAPELY,
    torch.TORCH,
    torch.TRANSFORMERS,
)
