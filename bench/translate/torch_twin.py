"""PyTorch's nn.Transformer trained on the pairs that oxibert learns from, for the same time, with the same recipe.

    torch_twin.py --start DIR --train train.tsv --seconds 3600 --out DIR

`--start` comes from oxibert: its initial weights in Marian's form, and its tokenizer. The same model is built of PyTorch's own
encoder and decoder layers (post-norm, ReLU, no last LayerNorm, dropout where the paper has it). Batches hold pairs of like length, as
a careful user would make them, and are padded. Saving snapshots does not count as time; nothing is evaluated here.
"""
import argparse
import json
import math
import random
import shutil
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn

BATCH_TOKENS, SMOOTHING, WARMUP = 2048, 0.1, 0.1
POOL = 100


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("start", "train", "out"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    parser.add_argument("--seconds", required=True, type=float)
    parser.add_argument("--snapshots", type=int, default=6)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--bf16", action="store_true", help="torch.autocast in bfloat16")
    return parser.parse_args()


class Twin(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, rate = config["d_model"], config["dropout"]
        shape = dict(d_model=width, dropout=rate, activation="relu", batch_first=True, layer_norm_eps=1e-5)
        encoder = nn.TransformerEncoderLayer(nhead=config["encoder_attention_heads"], dim_feedforward=config["encoder_ffn_dim"], **shape)
        decoder = nn.TransformerDecoderLayer(nhead=config["decoder_attention_heads"], dim_feedforward=config["decoder_ffn_dim"], **shape)
        self.body = nn.Transformer(
            d_model=width, batch_first=True,
            custom_encoder=nn.TransformerEncoder(encoder, config["encoder_layers"], enable_nested_tensor=False),
            custom_decoder=nn.TransformerDecoder(decoder, config["decoder_layers"]))
        # The paper drops nothing within the feed-forward layer, nor of attention's weights.
        for layer in [*self.body.encoder.layers, *self.body.decoder.layers]:
            layer.dropout.p = 0.0
            for name in ("self_attn", "multihead_attn"):
                if hasattr(layer, name):
                    getattr(layer, name).dropout = 0.0
        self.embed = nn.Embedding(config["vocab_size"], width)
        self.drop, self.scale, self.pad = nn.Dropout(rate), math.sqrt(width), config["pad_token_id"]
        self.register_buffer("positions", sinusoids(config["max_position_embeddings"], width), persistent=False)

    def forward(self, source, given):
        hidden = lambda ids: self.drop(self.embed(ids) * self.scale + self.positions[:ids.shape[1]])
        causal = nn.Transformer.generate_square_subsequent_mask(given.shape[1])
        out = self.body(hidden(source), hidden(given), tgt_mask=causal, tgt_is_causal=True, src_key_padding_mask=source == self.pad,
                        memory_key_padding_mask=source == self.pad)
        return out @ self.embed.weight.T


def sinusoids(count, width):
    """In Marian's order: first all sines, then all cosines."""
    angles = torch.arange(count, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.cat([angles.sin(), angles.cos()], 1).float()


def places(model):
    """(Marian's name, PyTorch's tensor, rows of it) of every parameter."""
    yield "model.shared.weight", model.embed.weight, slice(None)
    sides = [("encoder", model.body.encoder.layers, [("self_attn", "self_attn", "norm1")], "norm2"),
             ("decoder", model.body.decoder.layers, [("self_attn", "self_attn", "norm1"), ("encoder_attn", "multihead_attn", "norm2")], "norm3")]
    for side, layers, attentions, last in sides:
        for number, layer in enumerate(layers):
            at = f"model.{side}.layers.{number}"
            for theirs, ours, norm in attentions:
                attention, width = getattr(layer, ours), getattr(layer, norm).weight.shape[0]
                for place, part in enumerate("qkv"):
                    rows = slice(place * width, (place + 1) * width)
                    yield f"{at}.{theirs}.{part}_proj.weight", attention.in_proj_weight, rows
                    yield f"{at}.{theirs}.{part}_proj.bias", attention.in_proj_bias, rows
                for kind in ("weight", "bias"):
                    yield f"{at}.{theirs}.out_proj.{kind}", getattr(attention.out_proj, kind), slice(None)
                    yield f"{at}.{theirs}_layer_norm.{kind}", getattr(getattr(layer, norm), kind), slice(None)
            for theirs, ours in (("fc1", "linear1"), ("fc2", "linear2"), ("final_layer_norm", last)):
                for kind in ("weight", "bias"):
                    yield f"{at}.{theirs}.{kind}", getattr(getattr(layer, ours), kind), slice(None)


@torch.no_grad()
def load(model, directory):
    given = load_file(directory / "model.safetensors")
    for name, tensor, rows in places(model):
        tensor[rows].copy_(given[name])
    return {name: value for name, value in given.items() if name not in {place[0] for place in places(model)}}


@torch.no_grad()
def save(model, others, start, directory):
    directory.mkdir(parents=True)
    for file in start.iterdir():
        if file.suffix in (".json", ".txt") and file.name not in ("run.json",):
            shutil.copy(file, directory)
    tensors = {name: tensor[rows].detach().clone().contiguous() for name, tensor, rows in places(model)}
    save_file({**others, **tensors}, directory / "model.safetensors", metadata={"format": "pt"})


def encoded(path, start, config):
    tokenizer = Tokenizer.from_file(str(start / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    pairs = [line.split("\t") for line in path.read_text(encoding="utf8").split("\n") if line]
    ids = lambda column: [encoding.ids for encoding in tokenizer.encode_batch([pair[column] for pair in pairs])]
    most = config["max_position_embeddings"]
    return [(source, target) for source, target in zip(ids(0), ids(1)) if 3 <= len(source) <= most and 3 <= len(target) <= most]


def size(pair):
    return len(pair[0]) + len(pair[1]) - 1


def batches(pairs):
    """Endlessly: pairs of like length, as many as fit the budget with their padding not counted."""
    while True:
        random.shuffle(pairs)
        epoch, pool = [], POOL * BATCH_TOKENS // max(1, sum(map(size, pairs)) // len(pairs))
        for begin in range(0, len(pairs), pool):
            batch, tokens = [], 0
            for pair in sorted(pairs[begin:begin + pool], key=lambda pair: (len(pair[0]), len(pair[1]))):
                if batch and tokens + size(pair) > BATCH_TOKENS:
                    epoch.append(batch)
                    batch, tokens = [], 0
                batch.append(pair)
                tokens += size(pair)
            epoch.append(batch)
        random.shuffle(epoch)
        yield from epoch


def padded(rows, pad):
    width = max(map(len, rows))
    return torch.tensor([row + [pad] * (width - len(row)) for row in rows])


def main():
    chosen = options()
    torch.set_num_threads(2)
    torch.manual_seed(chosen.seed)
    random.seed(chosen.seed)
    config = json.loads((chosen.start / "config.json").read_text())
    model = Twin(config)
    others = load(model, chosen.start)
    pairs = encoded(chosen.train, chosen.start, config)
    peak = (4000 * config["d_model"]) ** -0.5
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True)
    criterion = nn.CrossEntropyLoss(label_smoothing=SMOOTHING, ignore_index=config["pad_token_id"])
    model.train()
    begin, away, step, tokens, saved = time.perf_counter(), 0.0, 0, 0, 0
    for batch in batches(pairs):
        elapsed = time.perf_counter() - begin - away
        if elapsed >= chosen.seconds * (saved + 1) / chosen.snapshots:
            pause = time.perf_counter()
            saved += 1
            minutes = chosen.seconds * saved / chosen.snapshots / 60
            save(model, others, chosen.start, chosen.out / f"minute-{minutes:06.2f}")
            print(json.dumps(dict(step=step, seconds=elapsed, tokens_per_second=tokens / elapsed)), flush=True)
            away += time.perf_counter() - pause
            if saved == chosen.snapshots:
                return
        progress = max(elapsed / chosen.seconds, 1e-6)
        for group in optimizer.param_groups:
            group["lr"] = peak * min(progress / WARMUP, math.sqrt(WARMUP / progress))
        source, target = (padded([pair[side] for pair in batch], config["pad_token_id"]) for side in (0, 1))
        with torch.autocast("cpu", torch.bfloat16, enabled=chosen.bf16):
            logits = model(source, target[:, :-1])
            loss = criterion(logits.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, tokens = step + 1, tokens + sum(map(size, batch))


if __name__ == "__main__":
    main()
