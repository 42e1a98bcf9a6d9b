# python lessons/01_why_distribute/twins/adam_state.py
import torch

for dtype in (torch.float32, torch.bfloat16):
    weight = torch.nn.Parameter(torch.ones(1000, dtype=dtype))
    optimizer = torch.optim.AdamW([weight])
    weight.sum().backward()
    optimizer.step()
    state = optimizer.state[weight]
    kept = [weight, weight.grad, state["exp_avg"], state["exp_avg_sq"]]
    each = [tensor.element_size() for tensor in kept]
    grown = torch.ones(1, dtype=dtype)
    for _ in range(1000):
        grown += 0.001
    print(f"{dtype}: {each} = {sum(each)} bytes; 1 + 1000 · 0.001 = {grown.item():.3f}")
