"""More of `kinds.py`: torch's settings. They need torch, which `./dev nightly torch` installs."""

from __future__ import annotations

try:
    from kinds import Kind
except ImportError:  # of the tests of the platform
    from python.tests.kinds import Kind


def _setting(name: str, change: str, look: str, before: str = "import torch") -> Kind:
    return Kind(f"torch: {name}", before, change, look, "torch")


TORCH = [
    _setting(
        "default dtype", "torch.set_default_dtype(torch.float64)", "torch.ones(1).dtype, torch.get_default_dtype()"
    ),
    _setting("default device", "torch.set_default_device('meta')", "torch.empty(1).device.type"),
    _setting("threads", "torch.set_num_threads(3)", "torch.get_num_threads()"),
    _setting(
        "deterministic algorithms",
        "torch.use_deterministic_algorithms(True, warn_only=True)",
        "torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()",
    ),
    _setting(
        "precision of products", "torch.set_float32_matmul_precision('medium')", "torch.get_float32_matmul_precision()"
    ),
    _setting("gradients", "_ = torch.set_grad_enabled(False)", "(torch.ones(1, requires_grad=True) * 2).requires_grad"),
    _setting("anomalies", "_ = torch.autograd.set_detect_anomaly(True)", "torch.is_anomaly_enabled()"),
    _setting("printing", "torch.set_printoptions(precision=2)", "str(torch.tensor([1 / 3], device='cpu'))"),
    _setting("cudnn", "torch.backends.cudnn.benchmark = True", "torch.backends.cudnn.benchmark"),
    Kind(
        "a hook of all modules of torch",
        "import torch.nn\ncalled, hooks = [], torch.nn.modules.module._global_forward_hooks\n"
        "def hook(module, args, output):\n    called.append(1)",
        "handle = torch.nn.modules.module.register_module_forward_hook(hook)",
        "[each is hook and handle.hooks_dict_ref() is hooks for each in hooks.values()]",
        "torch",
    ),
    Kind(
        "a hook of all modules of torch for gradients, beside one that was there",
        "import torch.nn; hooks = torch.nn.modules.module\n"
        "_ = hooks.register_module_forward_pre_hook(lambda module, args: None)",
        "_ = hooks.register_module_full_backward_hook(lambda module, before, after: None)",
        "hooks._global_is_full_backward_hook, len(hooks._global_backward_hooks), len(hooks._global_forward_pre_hooks)",
        "torch",
        sets="hooks for gradients",
    ),
]
