"""How torch's tensors are pickled: those of one storage share it again, with the arrays that do; gradients are kept."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

from banyan.reducers.memory import TENSOR, Memory, view
from banyan.reducers.sharing import Made

if TYPE_CHECKING:
    from banyan.reducers.reducer import Pickling, Reducer


def reducers(torch: Any) -> list[tuple[type, Reducer]]:
    storage = torch.storage
    found: list[tuple[type, Reducer]] = [(torch.Tensor, _reduce_tensor), (torch.Generator, _reduce_generator)]
    found += [(getattr(storage, "TypedStorage", storage._StorageBase), _reduce_typed_storage)]
    return [*found, (storage.UntypedStorage, _reduce_storage)]


def _reduce_tensor(tensor: Any, pickling: Pickling) -> Any:
    if not tensor.is_leaf:
        raise TypeError("cannot pickle a tensor with the graph that its gradient needs: detach() it")
    if tensor._backward_hooks:
        raise TypeError("cannot pickle a tensor with hooks")
    if tensor.device.type == "cpu" and not (tensor.is_sparse or tensor.is_mkldnn or "sparse" in str(tensor.layout)):
        storage = _untyped(tensor)
        pickling.memory.note(tensor, storage.data_ptr(), storage.data_ptr() + storage.nbytes(), TENSOR)
    make, arguments, *state = tensor.__reduce_ex__(5)
    if tensor.grad is None or state:
        return make, arguments, *state
    return make, arguments, tensor.grad, None, None, set_gradient


def set_gradient(tensor: Any, gradient: Any) -> None:
    tensor.grad = gradient


def _untyped(tensor: Any) -> Any:
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor.storage().untyped()


def _reduce_typed_storage(storage: Any, pickling: Pickling) -> Any:
    untyped = storage._untyped_storage if hasattr(storage, "_untyped_storage") else storage._storage
    if untyped.device.type != "cpu":
        return NotImplemented
    return typed_storage, (_once(untyped, pickling.memory), storage.dtype)


def _reduce_storage(storage: Any, pickling: Pickling) -> Any:
    return _once(storage, pickling.memory).__reduce__() if storage.device.type == "cpu" else NotImplemented


def _once(storage: Any, memory: Memory) -> _Storage:
    made = _Storage(storage, memory)
    return memory.once(storage.data_ptr(), made) if storage.nbytes() else made


class _Storage(Made):
    """A storage, whichever of torch's short-lived objects represents it."""

    def __init__(self, storage: Any, memory: Memory) -> None:
        self._storage = storage
        self._memory = memory

    def __reduce__(self) -> Any:
        begin, size = self._storage.data_ptr(), self._storage.nbytes()
        region = self._memory.region(begin, begin + size) if size else None
        if region is not None:
            return storage_over, (region.memory, begin - region.begin, size)
        return new_storage, (view(begin, size, self._storage) if size else b"",)


def new_storage(data: Any) -> Any:
    if len(memoryview(data)) == 0:
        return sys.modules["torch"].UntypedStorage(0)
    return _untyped(_tensor_over(data, 0, -1).clone())


def storage_over(data: Any, offset: int, size: int) -> Any:
    return _untyped(_tensor_over(data, offset, size))


def _tensor_over(data: Any, offset: int, size: int) -> Any:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of bytes that are read-only.
        return torch.frombuffer(data, dtype=torch.uint8, offset=offset, count=size)


def typed_storage(untyped: Any, dtype: Any) -> Any:
    import torch

    internal = {"_internal": True} if hasattr(torch.Tensor, "untyped_storage") else {}
    return torch.storage.TypedStorage(wrap_storage=untyped, dtype=dtype, **internal)


def _reduce_generator(generator: Any, _pickling: Pickling) -> Any:
    return make_generator, (generator.device.type,), bytes(generator.get_state().tolist()), None, None, set_generator


def make_generator(device: str) -> Any:
    import torch

    return torch.Generator(device)


def set_generator(generator: Any, state: bytes) -> None:
    import torch

    generator.set_state(torch.tensor(list(state), dtype=torch.uint8))
