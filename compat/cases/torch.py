"""torch on the processor, and transformers without weights."""

from compat.case import Case, Library

_WEIGHTS = "{k: v.tolist() for k, v in x.state_dict().items()}"
_STEP = "m(torch.ones(1, 2)).sum().backward(); x.step()"

TORCH = Library(
    "torch",
    "torch",
    """
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset, TensorDataset
_ = torch.manual_seed(0)
def layer(): torch.manual_seed(0); return nn.Linear(2, 2)
""".strip(),
    (
        Case("torch.Tensor", "x = torch.arange(6.0)", "x[2] = 9", "x.tolist(), x.dtype"),
        Case(
            "torch.Tensor",
            "b = torch.zeros(6)\nx = b[2:4]",
            "x[0] = 9",
            "x.tolist(), b.tolist(), x.storage_offset()",
            "a view",
        ),
        Case(
            "torch.Tensor",
            "a = np.zeros(3)\nx = torch.from_numpy(a)",
            "a[0] = 9",
            "x.tolist(), a.tolist()",
            "memory of an array",
        ),
        Case(
            "torch.Tensor",
            "x = torch.ones(2, requires_grad=True)\n(x * 3).sum().backward()",
            "x.grad[0] = 9",
            "x.tolist(), x.grad.tolist(), x.requires_grad",
            "with a gradient",
        ),
        Case(
            "torch.Tensor",
            "p = torch.ones(2, requires_grad=True)\nx = p * 3",
            "x = p * 4",
            "x.tolist(), x.grad_fn is not None",
            "result of a graph",
        ),
        Case(
            "torch.Tensor", "x = torch.eye(3).to_sparse()", "x = x * 2", "x.to_dense().tolist(), x.is_sparse", "sparse"
        ),
        Case(
            "torch.Tensor",
            "x = torch.arange(6).reshape(2, 3).t()",
            "x[0, 0] = 9",
            "x.tolist(), x.stride()",
            "transposed",
        ),
        Case("torch.Tensor", "x = torch.zeros(2, dtype=torch.bfloat16)", "x[0] = 9", "x.tolist(), x.dtype", "bfloat16"),
        Case(
            "torch.Tensor",
            "x = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)",
            "x = torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.qint8)",
            "x.dequantize().tolist(), x.q_scale()",
            "quantised",
        ),
        Case("torch.nn.Parameter", "x = nn.Parameter(torch.zeros(2))", "x.data[0] = 9", "x.tolist(), x.requires_grad"),
        Case("torch.nn.Linear", "x = layer()", "x.weight.data[0, 0] = 9", _WEIGHTS),
        Case(
            "torch.nn.Sequential",
            "x = nn.Sequential(layer(), nn.ReLU(), nn.Dropout())",
            "x.eval()",
            f"({_WEIGHTS}, x.training)",
        ),
        Case(
            "torch.nn.Module",
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = layer()\n"
            "    def forward(self, v): return self.l(v)\nx = Net()",
            "x.l.bias.data[0] = 9",
            "x(torch.ones(1, 2)).tolist()",
            "of a cell",
        ),
        Case(
            "torch.nn.Linear",
            "x = layer()\n_ = x.register_forward_hook(lambda m, i, o: o * 2)",
            "x.bias.data[0] = 9",
            "x(torch.ones(1, 2)).tolist()",
            "with a hook",
        ),
        Case(
            "torch.nn.LSTM",
            "torch.manual_seed(0)\nx = nn.LSTM(2, 2)",
            "x.flatten_parameters(); x.weight_ih_l0.data[0, 0] = 9",
            _WEIGHTS,
        ),
        Case("torch.nn.Embedding", "torch.manual_seed(0)\nx = nn.Embedding(3, 2)", "x.weight.data[0] = 9", _WEIGHTS),
        Case("torch.nn.BatchNorm1d", "x = nn.BatchNorm1d(2)", "_ = x(torch.arange(8.0).reshape(4, 2))", _WEIGHTS),
        Case(
            "torch.nn.Linear",
            "x = layer()\ny = layer()\ny.weight = x.weight",
            "x.weight.data[0, 0] = 9",
            "x.weight.tolist(), y.weight is x.weight",
            "tied weights",
        ),
        Case(
            "torch.nn.Linear",
            "x = torch.nn.utils.weight_norm(layer())",
            "x.weight_g.data[0] = 9",
            _WEIGHTS,
            "with weight norm",
        ),
        Case(
            "torch.optim.SGD",
            "m = layer()\nx = optim.SGD(m.parameters(), 0.1, momentum=0.9)",
            _STEP,
            "m.weight.tolist(), x.param_groups[0]['params'][0] is m.weight",
        ),
        Case(
            "torch.optim.Adam",
            "m = layer()\nx = optim.Adam(m.parameters())",
            _STEP,
            "m.weight.tolist(), len(x.state), x.param_groups[0]['params'][0] is m.weight",
        ),
        Case(
            "torch.optim.lr_scheduler.StepLR",
            "o = optim.SGD(layer().parameters(), 0.1)\nx = optim.lr_scheduler.StepLR(o, 1)",
            "o.step(); x.step()",
            "x.get_last_lr(), x.last_epoch, x.optimizer is o",
        ),
        Case(
            "torch.optim.lr_scheduler.LambdaLR",
            "o = optim.SGD(layer().parameters(), 0.1)\nx = optim.lr_scheduler.LambdaLR(o, lambda n: 0.5**n)",
            "o.step(); x.step()",
            "x.get_last_lr(), x.optimizer is o",
        ),
        Case(
            "torch.Generator",
            "x = torch.Generator().manual_seed(5)",
            "_ = torch.rand(1, generator=x)",
            "x.get_state().tolist()",
        ),
        Case(
            "torch.utils.data.TensorDataset",
            "x = TensorDataset(torch.zeros(3))",
            "x.tensors[0][0] = 9",
            "[v[0].item() for v in x]",
        ),
        Case(
            "torch.utils.data.DataLoader",
            "x = DataLoader(TensorDataset(torch.zeros(4)), 2)",
            "x.dataset.tensors[0][0] = 9",
            "[b[0].tolist() for b in x]",
        ),
        Case(
            "torch.utils.data.Dataset",
            "class D(Dataset):\n    def __init__(self): self.v = [1, 2]\n    def __len__(self): return len(self.v)\n"
            "    def __getitem__(self, i): return self.v[i]\nx = D()",
            "x.v.append(3)",
            "[x[i] for i in range(len(x))]",
        ),
        Case("torch.jit.ScriptModule", "x = torch.jit.script(layer())", "x.weight.data[0, 0] = 9", _WEIGHTS),
        Case(
            "torch.jit.ScriptFunction",
            "x = torch.jit.trace(lambda v: v + 1, torch.ones(1))",
            "x = torch.jit.trace(lambda v: v + 2, torch.ones(1))",
            "x(torch.ones(1)).tolist()",
        ),
        Case(
            "torch.distributions.Normal",
            "x = torch.distributions.Normal(torch.zeros(1), 1.0)",
            "x.loc[0] = 5",
            "x.mean.tolist()",
        ),
        Case(
            "torch.Size", "x = torch.zeros(2, 3).shape", "x = torch.zeros(4).shape", "x, type(x).__name__", frozen=True
        ),
        Case("torch.dtype", "x = torch.float32", "x = torch.int64", frozen=True),
        Case("torch.device", "x = torch.device('cpu')", "x = torch.device('cuda', 1)", frozen=True),
        Case(
            "collections.OrderedDict",
            "x = layer().state_dict()",
            "x['weight'][0, 0] = 9",
            "{k: v.tolist() for k, v in x.items()}",
            "state dict",
        ),
        Case(
            "torch.cuda.amp.GradScaler",
            "x = torch.cuda.amp.GradScaler(enabled=False)",
            "x._enabled = True",
            "x._enabled",
        ),
    ),
    "torch",
)

TRANSFORMERS = Library(
    "transformers",
    "transformers",
    """
import torch
from transformers import BertConfig, BertModel, BertTokenizer, BertTokenizerFast, GenerationConfig, GPT2Config
from transformers import GPT2LMHeadModel, T5Config, T5ForConditionalGeneration, TrainingArguments
small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=9)
open('vocab.txt', 'w').write('[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\n[MASK]\\na\\nb\\n')
""".strip(),
    (
        Case("transformers.BertConfig", "x = BertConfig(**small)", "x.hidden_act = 'relu'", "x.to_dict()"),
        Case(
            "transformers.BertModel",
            "torch.manual_seed(0)\nx = BertModel(BertConfig(**small)).eval()",
            "x.pooler.dense.bias.data[0] = 9",
            "x(torch.tensor([[5, 6]])).pooler_output.tolist()",
        ),
        Case(
            "transformers.GPT2LMHeadModel",
            "torch.manual_seed(0)\nx = GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=9)).eval()",
            "x.transformer.wte.weight.data[0, 0] = 9",
            "x(torch.tensor([[5]])).logits.tolist(), x.lm_head.weight is x.transformer.wte.weight",
        ),
        Case(
            "transformers.T5ForConditionalGeneration",
            "torch.manual_seed(0)\n"
            "c = T5Config(d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, vocab_size=9)\n"
            "x = T5ForConditionalGeneration(c).eval()",
            "x.shared.weight.data[0, 0] = 9",
            "x.encoder.embed_tokens.weight.tolist()",
        ),
        Case(
            "transformers.BertTokenizer",
            "x = BertTokenizer('vocab.txt')",
            "_ = x.add_tokens(['c'])",
            "x.tokenize('a b c'), len(x)",
        ),
        Case(
            "transformers.BertTokenizerFast",
            "x = BertTokenizerFast('vocab.txt')",
            "_ = x.add_tokens(['c'])",
            "x.tokenize('a b c'), len(x)",
        ),
        Case(
            "transformers.BatchEncoding",
            "x = BertTokenizerFast('vocab.txt')(['a b'])",
            "x['input_ids'][0][0] = 9",
            "dict(x), x.tokens()",
        ),
        Case("transformers.GenerationConfig", "x = GenerationConfig()", "x.top_k = 5", "x.to_dict()"),
        Case(
            "transformers.utils.ModelOutput",
            "torch.manual_seed(0)\n"
            "with torch.no_grad(): x = BertModel(BertConfig(**small)).eval()(torch.tensor([[5]]))",
            "x.pooler_output[0, 0] = 9",
            "x.pooler_output.tolist(), list(x)",
        ),
    ),
    "torch",
)
