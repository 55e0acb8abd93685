"""Models: scikit-learn, lightgbm, xgboost, statsmodels."""

from compat.case import Case, Library

_PREDICT = "x.predict(X).tolist()"
_TRANSFORM = "np.asarray(x.transform(X)).tolist()"
_REFIT = "_ = x.fit(X[::-1], y)"


def _model(kind: str, arguments: str = "", view: str = _PREDICT, fit: str = "X, y", change: str = _REFIT) -> Case:
    return Case(f"sklearn.{kind}", f"x = {kind.rpartition('.')[2]}({arguments}).fit({fit})", change, view)


SKLEARN = Library(
    "scikit-learn",
    "scikit-learn",
    """
import numpy as np
import sklearn
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF, PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor, IsolationForest
from sklearn.ensemble import RandomForestClassifier, StackingRegressor, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.manifold import TSNE
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder, MinMaxScaler, OneHotEncoder
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch
X = np.random.default_rng(0).random((40, 3))
y = (X[:, 0] > 0.5).astype(int)
""".strip(),
    (
        _model("linear_model.LinearRegression"),
        _model("linear_model.Ridge"),
        _model("linear_model.Lasso", "0.01"),
        _model("linear_model.ElasticNet", "0.01"),
        _model("linear_model.LogisticRegression", view="x.coef_.tolist()"),
        _model("linear_model.SGDClassifier", "random_state=0", "x.coef_.tolist()", change="_ = x.partial_fit(X, y)"),
        _model("tree.DecisionTreeClassifier", "random_state=0"),
        _model("ensemble.RandomForestClassifier", "n_estimators=5, random_state=0", "x.predict_proba(X).tolist()"),
        _model("ensemble.GradientBoostingClassifier", "n_estimators=5, random_state=0", "x.predict_proba(X).tolist()"),
        _model("ensemble.HistGradientBoostingRegressor", "max_iter=5, min_samples_leaf=2"),
        _model(
            "ensemble.IsolationForest",
            "n_estimators=5, random_state=0",
            "x.score_samples(X).tolist()",
            "X",
            "_ = x.fit(X[:20])",
        ),
        _model("ensemble.VotingClassifier", "[('a', GaussianNB()), ('b', SVC())]"),
        _model("ensemble.StackingRegressor", "[('a', Ridge()), ('b', Lasso())], cv=2"),
        _model("svm.SVC", view="x.decision_function(X).tolist()"),
        _model("neighbors.KNeighborsClassifier"),
        _model("neighbors.NearestNeighbors", "n_neighbors=2", "x.kneighbors(X)[1].tolist()", "X", "_ = x.fit(X[:20])"),
        _model("naive_bayes.GaussianNB", view="x.theta_.tolist()", change="_ = x.partial_fit(X, 1 - y)"),
        _model("neural_network.MLPClassifier", "(4,), max_iter=5, random_state=0", "[c.tolist() for c in x.coefs_]"),
        _model("gaussian_process.GaussianProcessRegressor"),
        _model("discriminant_analysis.LinearDiscriminantAnalysis", view="x.coef_.tolist()"),
        _model(
            "cluster.KMeans", "3, n_init=1, random_state=0", "x.cluster_centers_.tolist()", "X", "_ = x.fit(X[:20])"
        ),
        _model("cluster.DBSCAN", "0.2", "x.labels_.tolist()", "X", "_ = x.fit(X[:20])"),
        _model("cluster.AgglomerativeClustering", "3", "x.labels_.tolist()", "X", "_ = x.fit(X[:20])"),
        _model("mixture.GaussianMixture", "2, random_state=0", "x.means_.tolist()", "X", "_ = x.fit(X[:20])"),
        _model("decomposition.PCA", "2", _TRANSFORM, "X", "_ = x.fit(X[:20])"),
        _model(
            "decomposition.NMF", "2, init='nndsvd', random_state=0", "x.components_.tolist()", "X", "_ = x.fit(X[:20])"
        ),
        _model("decomposition.TruncatedSVD", "2, random_state=0", _TRANSFORM, "X", "_ = x.fit(X[:20])"),
        _model(
            "manifold.TSNE",
            "perplexity=5, init='pca', max_iter=250, random_state=0",
            "x.embedding_.tolist()",
            "X[:20]",
            "_ = x.fit(X[20:])",
        ),
        _model("preprocessing.StandardScaler", "", _TRANSFORM, "X", "_ = x.partial_fit(X * 9)"),
        _model("preprocessing.MinMaxScaler", "", _TRANSFORM, "X", "_ = x.fit(X * 9)"),
        _model("preprocessing.PolynomialFeatures", "2", _TRANSFORM, "X", "_ = x.set_params(degree=3).fit(X)"),
        _model(
            "preprocessing.OneHotEncoder",
            "",
            "[c.tolist() for c in x.categories_]",
            "[['a'], ['b']]",
            "_ = x.fit([['c']])",
        ),
        _model("preprocessing.LabelEncoder", "", "x.classes_.tolist()", "['a', 'b']", "_ = x.fit(['c'])"),
        _model("preprocessing.FunctionTransformer", "lambda v: v + 1", _TRANSFORM, "X", "x.func = lambda v: v + 2"),
        _model("impute.SimpleImputer", "", "x.statistics_.tolist()", "X", "_ = x.fit(X * 9)"),
        _model("feature_selection.SelectKBest", "k=2", "x.scores_.tolist()"),
        _model(
            "feature_extraction.text.CountVectorizer",
            "",
            "sorted(x.vocabulary_.items())",
            "['a text', 'two words']",
            "_ = x.fit(['more words'])",
        ),
        _model(
            "feature_extraction.text.TfidfVectorizer",
            "",
            "(sorted(x.vocabulary_), x.idf_.tolist())",
            "['a text', 'two words']",
            "_ = x.fit(['more words'])",
        ),
        Case(
            "sklearn.pipeline.Pipeline",
            "x = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)",
            _REFIT,
            "x[-1].coef_.tolist()",
        ),
        Case(
            "sklearn.compose.ColumnTransformer",
            "x = ColumnTransformer([('a', StandardScaler(), [0, 1])]).fit(X)",
            "_ = x.fit(X * 9)",
            _TRANSFORM,
        ),
        Case(
            "sklearn.model_selection.GridSearchCV",
            "x = GridSearchCV(Ridge(), {'alpha': [1, 2]}, cv=2).fit(X, y)",
            _REFIT,
            "(x.best_params_, x.best_estimator_.coef_.tolist())",
        ),
        Case(
            "sklearn.model_selection.KFold",
            "x = KFold(2, shuffle=True, random_state=0)",
            "x.n_splits = 3",
            "[a.tolist() for a, _ in x.split(X)]",
        ),
        Case("sklearn.utils.Bunch", "x = Bunch(a=1, data=X)", "x.a = 2", "dict(x)"),
    ),
)

BOOSTING = Library(
    "lightgbm, xgboost",
    "lightgbm",
    """
import lightgbm as lgb
import numpy as np
import xgboost as xgb
X = np.random.default_rng(0).random((60, 3))
y = (X[:, 0] > 0.5).astype(int)
quiet = {'verbosity': -1, 'min_data_in_leaf': 2, 'num_threads': 1}
""".strip(),
    (
        Case(
            "lightgbm.LGBMClassifier",
            "x = lgb.LGBMClassifier(n_estimators=3, **quiet).fit(X, y)",
            "_ = x.fit(X[::-1], y)",
            "x.predict_proba(X).tolist()",
        ),
        Case(
            "lightgbm.Booster",
            "x = lgb.train(quiet, lgb.Dataset(X, y), 3)",
            "x = lgb.train(quiet, lgb.Dataset(X, y), 4)",
            _PREDICT,
        ),
        Case(
            "lightgbm.Booster",
            "x = lgb.train(quiet, lgb.Dataset(X, y), 3, keep_training_booster=True)",
            "_ = x.update()",
            "x.num_trees()",
            "while it trains",
        ),
        Case("lightgbm.Dataset", "x = lgb.Dataset(X, y)", "_ = x.set_label(1 - y)", "np.asarray(x.label).tolist()"),
        Case(
            "lightgbm.Dataset",
            "x = lgb.Dataset(X, y, params=quiet).construct()",
            "_ = x.set_label(1 - y)",
            "x.get_label().tolist()",
            "constructed",
        ),
        Case(
            "xgboost.XGBRegressor", "x = xgb.XGBRegressor(n_estimators=3).fit(X, y)", "_ = x.fit(X[::-1], y)", _PREDICT
        ),
        Case(
            "xgboost.Booster",
            "d = xgb.DMatrix(X, y)\nx = xgb.train({}, d, 3)",
            "x.set_attr(note='n')",
            "(x.attributes(), x.num_boosted_rounds())",
        ),
        Case("xgboost.DMatrix", "x = xgb.DMatrix(X, y)", "x.set_label(1 - y)", "x.get_label().tolist()"),
    ),
)

STATSMODELS = Library(
    "statsmodels",
    "statsmodels",
    """
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.tsa.arima.model import ARIMA
from statsmodels.tsa.holtwinters import ExponentialSmoothing
from statsmodels.tsa.seasonal import seasonal_decompose
X = np.random.default_rng(0).random((40, 2))
y = X @ [1, 2] + np.random.default_rng(1).random(40)
f = pd.DataFrame({'a': X[:, 0], 'b': X[:, 1], 'y': y})
""".strip(),
    (
        Case(
            "statsmodels.regression.linear_model.OLS", "x = sm.OLS(y, X)", "x.exog[0, 0] = 9", "x.fit().params.tolist()"
        ),
        Case(
            "statsmodels.regression.linear_model.RegressionResultsWrapper",
            "x = sm.OLS(y, X).fit()",
            "x.remove_data()",
            "(x.params.tolist(), x.model.endog is None)",
        ),
        Case(
            "statsmodels.regression.linear_model.RegressionResultsWrapper",
            "x = smf.ols('y ~ a + b', f).fit()",
            "x = smf.ols('y ~ a', f).fit()",
            "x.params",
            "from a formula",
        ),
        Case(
            "statsmodels.genmod.generalized_linear_model.GLM",
            "x = sm.GLM(y, X)",
            "x.exog[0, 0] = 9",
            "x.fit().params.tolist()",
        ),
        Case(
            "statsmodels.discrete.discrete_model.Logit",
            "x = sm.Logit(y > 1.5, X)",
            "x.exog[0, 0] = 9",
            "x.fit(disp=0).params.tolist()",
        ),
        Case(
            "statsmodels.tsa.arima.model.ARIMA",
            "x = ARIMA(y, order=(1, 0, 0))",
            "x.initialize_approximate_diffuse(5.0)",
            "float(x.loglike([2.0, 0.1, 0.5]))",
        ),
        Case(
            "statsmodels.tsa.arima.model.ARIMAResultsWrapper",
            "x = ARIMA(y, order=(1, 0, 0)).fit()",
            "x = x.append([1.0])",
            "x.forecast(2).tolist()",
        ),
        Case(
            "statsmodels.tsa.holtwinters.results.HoltWintersResultsWrapper",
            "x = ExponentialSmoothing(y, trend='add').fit()",
            "x = ExponentialSmoothing(y).fit()",
            "x.forecast(2).tolist()",
        ),
        Case(
            "statsmodels.tsa.seasonal.DecomposeResult",
            "x = seasonal_decompose(y, period=4)",
            "x._trend = x.trend * 2",
            "x.trend.tolist()",
        ),
        Case(
            "statsmodels.iolib.table.SimpleTable",
            "x = sm.OLS(y, X).fit().summary().tables[1]",
            "x.title = 't'",
            "x.as_text()",
        ),
    ),
)
