# torchrun --nproc-per-node 1 lessons/17_fault_tolerance/twins/async_save.py
import shutil, tempfile, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp

dist.init_process_group("gloo")
folder = tempfile.mkdtemp()

weight = torch.full((4,), 10.0)
saving = dcp.async_save({"weight": weight}, checkpoint_id=folder)
weight.fill_(11)  # the next step
saving.result()
saved = {"weight": torch.zeros(4)}
dcp.load(saved, checkpoint_id=folder)

model = torch.nn.Linear(2, 2)
live = model.state_dict()["weight"]
with torch.no_grad():
    model.weight.fill_(7)  # a step after state_dict()
print("saved:", saved["weight"].tolist(), "- now:", weight.tolist())
print("a state_dict follows its model:", torch.equal(live, model.weight))
shutil.rmtree(folder)
dist.destroy_process_group()
