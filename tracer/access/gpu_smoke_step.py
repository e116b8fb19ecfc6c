"""Training steps of a small GPT-2 on random tokens: prints the losses and the time of a settled step."""
import sys
import time

import torch
import transformers

torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
name = sys.argv[1] if len(sys.argv) > 1 else ""
config = transformers.GPT2Config(n_layer=12, n_embd=768, n_head=12, vocab_size=50257, n_positions=512)
model = transformers.GPT2LMHeadModel(config).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
tokens = torch.randint(0, config.vocab_size, (4, 512), device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    return loss.item()


losses = [step() for _ in range(1 if name == "access" else 3)]
torch.cuda.synchronize()
torch.cuda.profiler.start()
begin = time.time()
count = 10 if name == "native" else 2
losses += [step() for _ in range(count)]
torch.cuda.synchronize()
seconds = (time.time() - begin) / count
torch.cuda.profiler.stop()
print(f"{name}: {seconds * 1000:.1f} ms a step, losses {' '.join(f'{loss:.6f}' for loss in losses[:3])}")
