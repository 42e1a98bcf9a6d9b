# torchrun --nproc-per-node 2 lessons/08_horovod/twins/resume.py
import copy, torch, torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()

def train(model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        (model(torch.ones(1, 1)) - 3).square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad.div_(dist.get_world_size()))
        optimizer.step()

def fresh():
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1, bias=False)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

model, optimizer = fresh()
train(model, optimizer, 3)
saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))  # as in a file

for what in "parameters", "parameters and state":
    model, optimizer = fresh()
    if rank == 0:  # the only rank that reads the file
        model.load_state_dict(saved[0])
        optimizer.load_state_dict(copy.deepcopy(saved[1]))
    dist.broadcast(model.weight.data, src=0)
    if what != "parameters":
        dist.broadcast_object_list(state := [optimizer.state_dict()])
        optimizer.load_state_dict(state[0])
    train(model, optimizer, 1)
    dist.all_gather_object(weights := [None, None], model.weight.item())
    if rank == 0:
        print(f"{what}: ", *(f"{w:.4f}" for w in weights))
dist.destroy_process_group()
