# python lessons/09_asynchronous/twins/staleness.py
import torch

rates = torch.arange(0.01, 4, 0.02)

def largest_rate(workers, momentum):
    """The largest rate up to which w comes down to the minimum of w²/2, tried for all at once."""
    w = torch.nn.Parameter(torch.ones(len(rates)))
    optimizer = torch.optim.SGD([w], lr=1 / workers, momentum=momentum)
    pulled = [w.detach().clone() for _ in range(workers)]
    for push in range(1000 * workers):  # the workers push in turn
        w.grad = rates * pulled[push % workers]  # the gradient of w²/2 is w
        optimizer.step()
        pulled[push % workers] = w.detach().clone()
    settled = (w.abs() < 1).tolist() + [False]
    return rates[settled.index(False) - 1]

print("workers  staleness  largest rate, momentum 0  momentum 0.9")
for workers in 1, 2, 4, 8:
    plain, heavy = largest_rate(workers, 0), largest_rate(workers, 0.9)
    print(f"{workers:7}  {workers - 1:9}  {plain:24.2f}  {heavy:12.2f}")
