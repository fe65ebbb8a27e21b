"""A checkpoint that oxibert pretrained, loaded by transformers: are its losses on the held-out examples the same?

    same_losses.py BATCHES RUN

BATCHES comes from the example `pretraining_batches`, RUN is a directory of `oxibert pretrain` on the same shards. The last
evaluation in RUN/metrics.jsonl is put beside what BertForPreTraining says about RUN's weights.
"""
import json
import sys
from pathlib import Path

from transformers import BertForPreTraining

from torch_twin import evaluate, tensors

batches, run = map(Path, sys.argv[1:])
held_out = [tensors(batch) for batch in json.loads(batches.read_text())["held_out"]]
theirs = evaluate(BertForPreTraining.from_pretrained(run), held_out)
lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
ours = [line for line in lines if line["kind"] == "evaluation"][-1]
worst = 0
for name, value in theirs.items():
    worst = max(worst, abs(value - ours[name]))
    print(f"{name:14} oxibert {ours[name]:.7f}  transformers {value:.7f}")
print(f"largest difference {worst:.1e}")
sys.exit(worst > 1e-4)
