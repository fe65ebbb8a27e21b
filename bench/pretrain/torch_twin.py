"""PyTorch + transformers pretrained on the very batches that oxibert learns from, for the same time, with the same recipe.

    torch_twin.py --batches batches.json --model DIR --seconds 1800 --out metrics.jsonl

`batches.json` comes from the example `pretraining_batches`, DIR from oxibert (its initial weights, so that both begin alike).
The model computes logits at every position, as BertForPreTraining does; batches are padded to their longest sequence.
The clock runs during evaluations too, as oxibert's does.
"""
import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from transformers import BertForPreTraining

IGNORED = -100


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", required=True, type=Path)
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--seconds", required=True, type=float)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=float, default=0.06)
    parser.add_argument("--evaluations", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--attention", default="sdpa")
    return parser.parse_args()


def tensors(batch):
    width = max(map(len, batch["ids"]))
    rows = len(batch["ids"])
    ids, mask, segments = (np.zeros((rows, width), np.int64) for _ in range(3))
    labels = np.full((rows, width), IGNORED, np.int64)
    for row, (tokens, parts) in enumerate(zip(batch["ids"], batch["segments"])):
        ids[row, :len(tokens)], mask[row, :len(tokens)], segments[row, :len(tokens)] = tokens, 1, parts
        labels[row, batch["masked"][row]] = batch["labels"][row]
    return dict(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask), token_type_ids=torch.from_numpy(segments),
                labels=torch.from_numpy(labels), next_sentence_label=torch.tensor(batch["next"]))


def groups(model):
    decays = lambda name: not name.endswith(("bias", "LayerNorm.weight"))
    named = list(model.named_parameters())
    return [dict(params=[p for name, p in named if decays(name)], weight_decay=0.01),
            dict(params=[p for name, p in named if not decays(name)], weight_decay=0.0)]


@torch.no_grad()
def evaluate(model, batches):
    model.eval()
    loss = right = masked = pairs = pairs_right = pairs_loss = 0
    for batch in batches:
        output = model(**{name: value for name, value in batch.items() if name not in ("labels", "next_sentence_label")})
        asked = batch["labels"] != IGNORED
        logits, labels = output.prediction_logits[asked], batch["labels"][asked]
        loss += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(-1) == labels).sum().item()
        masked += len(labels)
        pairs += len(batch["next_sentence_label"])
        pairs_loss += torch.nn.functional.cross_entropy(output.seq_relationship_logits, batch["next_sentence_label"], reduction="sum").item()
        pairs_right += (output.seq_relationship_logits.argmax(-1) == batch["next_sentence_label"]).sum().item()
    model.train()
    pairs = max(pairs, 1)
    return dict(mlm_loss=loss / masked, mlm_accuracy=right / masked, nsp_loss=pairs_loss / pairs, nsp_accuracy=pairs_right / pairs)


def main():
    chosen = options()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(42)
    data = json.loads(chosen.batches.read_text())
    training, held_out = ([tensors(batch) for batch in data[part]] for part in ("training", "held_out"))
    model = BertForPreTraining.from_pretrained(chosen.model, attn_implementation=chosen.attention).train()
    optimizer = torch.optim.AdamW(groups(model), lr=chosen.lr, betas=(0.9, 0.999), eps=1e-6, fused=True)
    out = chosen.out.open("w")
    begin, step, measured, tokens = time.perf_counter(), 0, 0, 0
    while (progress := (time.perf_counter() - begin) / chosen.seconds) < 1:
        rate = chosen.lr * (progress / chosen.warmup if progress < chosen.warmup else (1 - progress) / (1 - chosen.warmup))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = training[step % len(training)]
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, tokens = step + 1, tokens + int(batch["attention_mask"].sum())
        now = (time.perf_counter() - begin) / chosen.seconds
        if math.floor(now * chosen.evaluations) > measured or now >= 1:
            measured = math.floor(now * chosen.evaluations)
            figures = evaluate(model, held_out)
            line = dict(kind="evaluation", step=step, seconds=time.perf_counter() - begin, tokens=tokens, loss=loss.item(), **figures)
            print(json.dumps(line), file=out, flush=True)
            print(f"step {step}  {line['seconds']:.0f} s  mlm {figures['mlm_loss']:.3f}  accuracy {figures['mlm_accuracy']:.3f}  "
                  f"nsp {figures['nsp_accuracy']:.3f}", flush=True)
    if step > len(training):
        print(f"note: {step} steps, but only {len(training)} batches: some were seen twice")


if __name__ == "__main__":
    main()
