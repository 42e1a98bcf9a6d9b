# python lessons/01_why_distribute/twins/five_calls.py
import torch

def final_loss(zero_first):
    torch.manual_seed(0)
    inputs = torch.randn(64, 8)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(50):
        if zero_first: optimizer.zero_grad()
        loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()

print(f"with zero_grad {final_loss(True):.1f}, without {final_loss(False):.1f}")
