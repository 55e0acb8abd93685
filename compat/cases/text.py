"""Language: nltk, gensim, tokenizers."""

from compat.case import Case, Library

NLTK = Library(
    "nltk",
    "nltk",
    """
import nltk
from nltk import CFG, ConditionalFreqDist, FreqDist, RegexpTokenizer, Text, Tree
from nltk.classify import NaiveBayesClassifier
from nltk.collocations import BigramCollocationFinder
from nltk.lm import Laplace
from nltk.lm.preprocessing import padded_everygram_pipeline
from nltk.stem import PorterStemmer, SnowballStemmer
from nltk.tag import UnigramTagger
W = 'the cat saw the dog and the dog saw a cat'.split()
""".strip(),
    (
        Case("nltk.Tree", "x = Tree.fromstring('(S (NP I) (VP go))')", "x[0][0] = 'you'", "str(x)"),
        Case(
            "nltk.ParentedTree",
            "x = nltk.ParentedTree.fromstring('(S (NP I))')",
            "x[0][0] = 'you'",
            "str(x), x[0].parent() is x",
        ),
        Case("nltk.FreqDist", "x = FreqDist(W)", "x['cat'] += 1", "(dict(x), x.N())"),
        Case(
            "nltk.ConditionalFreqDist",
            "x = ConditionalFreqDist(nltk.bigrams(W))",
            "x['the']['end'] += 1",
            "{k: dict(v) for k, v in x.items()}",
        ),
        Case("nltk.Text", "x = Text(W, 'n')", "x.tokens[0] = 'one'", "x.tokens, x.name"),
        Case("nltk.CFG", "x = CFG.fromstring(\"S -> 'a' S | 'b'\")", "x = CFG.fromstring(\"S -> 'b'\")", "str(x)"),
        Case("nltk.RegexpTokenizer", "x = RegexpTokenizer(r'\\w+')", "x._gaps = True", "x._gaps"),
        Case(
            "nltk.stem.PorterStemmer",
            "x = PorterStemmer()",
            "x.mode = 'MARTIN_EXTENSIONS'",
            "x.mode, x.stem('running')",
        ),
        Case(
            "nltk.stem.SnowballStemmer",
            "x = SnowballStemmer('english')",
            "x = SnowballStemmer('german')",
            "x.stem('running')",
        ),
        Case(
            "nltk.tag.UnigramTagger",
            "x = UnigramTagger([[('a', 'X')]])",
            "x = UnigramTagger([[('a', 'Y')]])",
            "x.tag(['a', 'b'])",
        ),
        Case(
            "nltk.classify.NaiveBayesClassifier",
            "x = NaiveBayesClassifier.train([({'a': 1}, 'p'), ({'a': 2}, 'q')])",
            "x._labels.append('r')",
            "x._labels",
        ),
        Case(
            "nltk.collocations.BigramCollocationFinder",
            "x = BigramCollocationFinder.from_words(W)",
            "x.apply_freq_filter(2)",
            "sorted(x.ngram_fd.items())",
        ),
        Case(
            "nltk.lm.Laplace",
            "x = Laplace(2)\nx.fit(*padded_everygram_pipeline(2, [W]))",
            "x.fit(*padded_everygram_pipeline(2, [['cat', 'cat']]))",
            "x.score('cat', ['the']), x.score('cat')",
        ),
    ),
)

GENSIM = Library(
    "gensim",
    "gensim",
    """
import numpy as np
from gensim.corpora import Dictionary, MmCorpus
from gensim.models import FastText, KeyedVectors, LdaModel, LsiModel, Phrases, TfidfModel, Word2Vec
from gensim.models.doc2vec import Doc2Vec, TaggedDocument
from gensim.similarities import MatrixSimilarity
S = [['cat', 'saw', 'dog'], ['dog', 'ran', 'cat'], ['a', 'dog', 'ran']]
D = Dictionary(S)
C = [D.doc2bow(s) for s in S]
""".strip(),
    (
        Case("gensim.corpora.Dictionary", "x = Dictionary(S)", "x.add_documents([['new']])", "x.token2id, x.num_docs"),
        Case(
            "gensim.models.Word2Vec",
            "x = Word2Vec(S, vector_size=4, min_count=1, workers=1, epochs=1, seed=1)",
            "x.wv.vectors[0] = 5",
            "x.wv.vectors.tolist()",
        ),
        Case(
            "gensim.models.FastText",
            "x = FastText(S, vector_size=4, min_count=1, workers=1, epochs=1, seed=1, bucket=9)",
            "x.wv.vectors[0] = 5",
            "x.wv.vectors.tolist()",
        ),
        Case(
            "gensim.models.KeyedVectors",
            "x = KeyedVectors(2)\nx.add_vectors(['a'], np.ones((1, 2)))",
            "x.add_vectors(['b'], np.zeros((1, 2)))",
            "x.key_to_index, x.vectors.tolist()",
        ),
        Case(
            "gensim.models.doc2vec.Doc2Vec",
            "x = Doc2Vec([TaggedDocument(S[0], [0])], vector_size=4, min_count=1, workers=1, epochs=1, seed=1)",
            "x.dv.vectors[0] = 5",
            "x.dv.vectors.tolist()",
        ),
        Case(
            "gensim.models.LdaModel", "x = LdaModel(C, 2, D, random_state=1)", "x.update(C)", "x.get_topics().tolist()"
        ),
        Case(
            "gensim.models.LsiModel",
            "x = LsiModel(C, 2, D, random_seed=1)",
            "x.projection.s[0] = 5",
            "x.projection.s.tolist()",
        ),
        Case("gensim.models.TfidfModel", "x = TfidfModel(C)", "x.idfs[0] = 5", "x.idfs, x[C[0]]"),
        Case(
            "gensim.models.Phrases",
            "x = Phrases(S, min_count=1)",
            "x.add_vocab([['new', 'words']])",
            "sorted(x.vocab.items())",
        ),
        Case(
            "gensim.similarities.MatrixSimilarity",
            "x = MatrixSimilarity(C, num_features=len(D))",
            "x.index[0] = 5",
            "x.index.tolist()",
        ),
    ),
)

TOKENIZERS = Library(
    "tokenizers",
    "tokenizers",
    "from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers",
    (
        Case(
            "tokenizers.Tokenizer",
            "x = Tokenizer(models.WordLevel({'a': 0, '?': 1}, '?'))",
            "_ = x.add_tokens(['b'])",
            "x.to_str()",
        ),
        Case("tokenizers.models.BPE", "x = models.BPE()", "x.dropout = 0.5", "x.dropout"),
        Case(
            "tokenizers.pre_tokenizers.Whitespace",
            "x = pre_tokenizers.Whitespace()",
            "x = pre_tokenizers.Digits()",
            "x.pre_tokenize_str('a 1b')",
        ),
        Case(
            "tokenizers.Encoding",
            "t = Tokenizer(models.WordLevel({'a': 0, '?': 1}, '?'))\nx = t.encode('a')",
            "x.pad(5)",
            "x.ids, x.attention_mask",
        ),
        Case("tokenizers.AddedToken", "x = AddedToken('a', lstrip=True)", "x = AddedToken('b')", "repr(x)"),
    ),
)
