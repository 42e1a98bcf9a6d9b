# Writes reference.safetensors, which lies beside it, with the safetensors package (0.8.0, torch
# 2.15.0). Run: python3 tests/checkpoint/data/make_reference.py
import pathlib

import torch
from safetensors.torch import save_file

save_file(
    {
        "layer.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 2,
        "layer.bias": torch.tensor([-0.1, 1e300], dtype=torch.float64),
        "step": torch.tensor(2**53 - 1),
        "ids": torch.tensor([[-1, 0], [1, 2**31 - 1]], dtype=torch.int32),
        "quantized": torch.tensor([-128, 0, 127], dtype=torch.int8),
        "bytes": torch.tensor([0, 128, 255], dtype=torch.uint8),
        "brain": torch.tensor([1, -3.14, 2.0**100], dtype=torch.bfloat16),
        "half": torch.tensor([1, -1 / 3, 65504], dtype=torch.float16),
        "nothing": torch.zeros(0, 4),
    },
    pathlib.Path(__file__).with_name("reference.safetensors"),
    metadata={"format": "pt"},
)
