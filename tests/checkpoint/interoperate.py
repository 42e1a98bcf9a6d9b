# Exchanges safetensors files between the engine and PyTorch, in both directions, bit for bit:
#   python3 tests/checkpoint/interoperate.py build/release/bin/interoperate_checkpoint
# Ends with 77, which ctest shows as skipped, where torch or safetensors is not installed.
import pathlib
import subprocess
import sys
import tempfile

try:
    import safetensors
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"SKIPPED: {missing}. Nothing was compared with PyTorch. Run it with a Python that has "
          "torch and safetensors, or configure with -DLOCKSTEP_TORCH_PYTHON=that python.")
    sys.exit(77)

program = sys.argv[1]
dtypes = {
    "float32": torch.float32, "float64": torch.float64, "int64": torch.int64,
    "int32": torch.int32, "int8": torch.int8, "uint8": torch.uint8,
    "bfloat16": torch.bfloat16, "float16": torch.float16,
}
names = {dtype: name for name, dtype in dtypes.items()}


def line(name, tensor):
    raw = tensor.contiguous().flatten().view(torch.uint8) if tensor.numel() else torch.zeros(0)
    digits = "".join(f"{int(byte):02x}" for byte in raw)
    return f"{name}\t{names[tensor.dtype]}\t{list(tensor.shape)}\t{digits}"


def engine_sees(path):
    done = subprocess.run([program, "print", path], check=True, capture_output=True, text=True)
    return sorted(done.stdout.splitlines())


def same(what, got, want):
    if got != want:
        sys.exit(f"FAILED: {what}\n got {got}\nwant {want}")
    print("ok:", what)


with tempfile.TemporaryDirectory() as folder:
    ours, theirs = pathlib.Path(folder, "ours"), pathlib.Path(folder, "theirs")

    subprocess.run([program, "write", ours], check=True)
    loaded = load_file(ours)
    same("PyTorch reads what the engine writes",
         sorted(line(name, tensor) for name, tensor in loaded.items()), engine_sees(ours))
    save_file(loaded, theirs, metadata={"format": "pt"})
    same("the safetensors package writes the same bytes as the engine",
         theirs.read_bytes(), ours.read_bytes())

    torch.manual_seed(1)
    written = {"scalar": torch.tensor(1.5), "none": torch.zeros(3, 0)}
    for name, dtype in dtypes.items():
        bits = torch.randint(0, 256, (4 * 6 * 8,), dtype=torch.uint8)
        written[f"x.{name}"] = bits.view(dtype).reshape(4, -1).clone()
    module = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
    written.update(module.state_dict())
    save_file(written, theirs)
    same("the engine reads what PyTorch writes", engine_sees(theirs),
         sorted(line(name, tensor) for name, tensor in written.items()))

print(f"torch {torch.__version__}, safetensors {safetensors.__version__}")
