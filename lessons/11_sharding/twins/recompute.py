# python lessons/11_sharding/twins/recompute.py
import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
ran = []

class Block(torch.nn.Sequential):
    def forward(self, x):
        ran.append(self.name)
        return super().forward(x)

blocks = [Block(torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.Dropout(0.5)) for _ in range(3)]
for i, block in enumerate(blocks):
    block.name = f"block {i}"

def gradient(run):
    ran.clear()
    torch.manual_seed(1)  # the same dropout in both runs
    x = torch.ones(4, 16)
    for block in blocks:
        x = run(block, x)
        block.zero_grad()
    x.sum().backward()
    return blocks[0][0].weight.grad.clone(), ", ".join(ran)

kept, calls = gradient(lambda block, x: block(x))
print("kept:      ", calls)
again, calls = gradient(lambda block, x: checkpoint(block, x, use_reentrant=False))
print("recomputed:", calls)
print("same gradients:", torch.equal(kept, again))
