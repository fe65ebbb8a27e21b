"""Makes the .bin files beside it: what torch.save writes, made without PyTorch.

    python3 make.py

Python's own pickle writes the program; stand-ins with the names of PyTorch's classes make it say the same as
with PyTorch: protocol 2, storages as persistent ids, tensors as _rebuild_tensor_v2. The zip file has PyTorch's
layout: entries stored, their data at a multiple of 64 bytes by an extra field.
"""

import collections
import io
import os
import pickle
import struct
import sys
import types
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH, UTILS = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules.update({"torch": TORCH, "torch._utils": UTILS})
TORCH._utils = UTILS


def function(name):
    def stand_in(*_):
        raise NotImplementedError

    stand_in.__module__, stand_in.__qualname__, stand_in.__name__ = "torch._utils", name, name
    setattr(UTILS, name, stand_in)
    return stand_in


def storage_type(name):
    kind = type(name, (), {"__module__": "torch", "__qualname__": name})
    setattr(TORCH, name, kind)
    return kind


REBUILD_TENSOR, REBUILD_PARAMETER = function("_rebuild_tensor_v2"), function("_rebuild_parameter")
FLOAT, HALF, BFLOAT, DOUBLE, LONG = map(
    storage_type, ["FloatStorage", "HalfStorage", "BFloat16Storage", "DoubleStorage", "LongStorage"]
)
FORMATS = {FLOAT: "f", HALF: "e", DOUBLE: "d", LONG: "q"}


class Storage:
    def __init__(self, kind, values):
        self.kind, self.count = kind, len(values)
        if kind is BFLOAT:
            self.data = b"".join(struct.pack("<f", value)[2:] for value in values)
        else:
            self.data = struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)


class Tensor:
    def __init__(self, storage, offset, shape, strides):
        self.arguments = (storage, offset, shape, strides, False, collections.OrderedDict())

    def __reduce__(self):
        return REBUILD_TENSOR, self.arguments


class Parameter:
    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce__(self):
        return REBUILD_PARAMETER, (self.tensor, True, collections.OrderedDict())


def pickled(value, protocol):
    keys = {}

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if not isinstance(value, Storage):
                return None
            key = keys.setdefault(id(value), (str(len(keys)), value))[0]
            return ("storage", value.kind, key, "cpu", value.count)

    out = io.BytesIO()
    Pickler(out, protocol=protocol).dump(value)
    return out.getvalue(), [storage for _, storage in keys.values()]


def save(name, value, protocol=2):
    program, storages = pickled(value, protocol)
    entries = [("data.pkl", program), ("byteorder", b"little")]
    entries += [(f"data/{number}", storage.data) for number, storage in enumerate(storages)]
    entries += [("version", b"3\n")]
    with zipfile.ZipFile(os.path.join(HERE, name), "w", zipfile.ZIP_STORED) as archive:
        for path, data in entries:
            entry = zipfile.ZipInfo(f"archive/{path}", (1980, 1, 1, 0, 0, 0))
            start = archive.fp.tell() + 30 + len(entry.filename) + 4
            padding = -start % 64
            entry.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
            archive.writestr(entry, data)


def contiguous(kind, values, *shape):
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return Tensor(Storage(kind, values), 0, shape, tuple(strides[: len(shape)]))


def main():
    shared = Storage(FLOAT, [0.5 * i for i in range(24)])
    state = collections.OrderedDict()
    state["embeddings.position_ids"] = contiguous(LONG, list(range(4)), 1, 4)
    state["embeddings.word_embeddings.weight"] = Tensor(shared, 0, (6, 4), (4, 1))
    state["embeddings.LayerNorm.gamma"] = contiguous(HALF, [1.0, 0.5, -2.0, 65504.0], 4)
    state["embeddings.LayerNorm.beta"] = contiguous(BFLOAT, [1.0, 0.5, -2.0, 3.0], 4)
    state["pooler.dense.weight"] = Tensor(shared, 4, (2, 3), (1, 4))  # a transposed part of the table
    state["pooler.dense.bias"] = Parameter(contiguous(DOUBLE, [0.1, -0.2, 1e-300, 3.0], 4))
    state["scalar"] = contiguous(FLOAT, [7.0])
    state["empty"] = contiguous(FLOAT, [], 0)
    state["note"] = {"epoch": 3, "rate": 1e-4, "best": None, "done": True, "list": [1, -70000, 1 << 40]}
    state._metadata = collections.OrderedDict([("", {"version": 1}), ("embeddings", {"version": 1})])
    save("state.bin", state)
    save("state_protocol4.bin", state, protocol=4)
    save("hostile.bin", {"weight": Call(os.system, "echo executed")})


class Call:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


if __name__ == "__main__":
    main()
