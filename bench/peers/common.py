"""What all scripts here share: shapes, folders, batches, comparisons."""
import json
import os
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
HOME = Path(os.environ.get("OXIBERT_PEERS", TARGET / "peers"))
MODELS, WORKLOADS, SCRATCH = HOME / "models", HOME / "workloads", HOME / "scratch"
OXIBERT = TARGET / "release" / "oxibert"

SHAPES = {
    "base": dict(layers=12, hidden=768, heads=12, inner=3072, vocab=30522),
    "minilm": dict(layers=6, hidden=384, heads=12, inner=1536, vocab=30522),
    "mini": dict(layers=4, hidden=256, heads=4, inner=1024, vocab=8192),
}
# The recipe of every training step, ours and PyTorch's: BERT's own (Devlin et al., appendix A.2), with the
# constants that `oxibert bench --train` has.
ADAMW = dict(lr=1e-4, betas=(0.9, 0.999), eps=1e-6)
WEIGHT_DECAY, CLIP = 0.01, 1.0


def read_json(path):
    return json.loads(Path(path).read_text())


def pad(sequences):
    """Ids and mask as rectangles, padded to the longest of these sequences."""
    width = max(map(len, sequences))
    ids = np.zeros((len(sequences), width), np.int64)
    mask = np.zeros((len(sequences), width), np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, :len(sequence)] = sequence
        mask[row, :len(sequence)] = 1
    return ids, mask


def batches_of(sequences, order, size):
    """Numbers of sequences, `size` at a time: as they come, or the longest first."""
    numbers = list(range(len(sequences)))
    if order == "sorted":
        numbers.sort(key=lambda number: -len(sequences[number]))
    return [numbers[start:start + size] for start in range(0, len(numbers), size)]


def rows_in_order(sequences, batches, outputs):
    """Every token's vector in the order of the file, then every sequence's pooled vector: what `oxibert bench --out`
    writes. `outputs` has (hidden, pooled) for each batch; padding is cut off."""
    hidden, pooled = [None] * len(sequences), [None] * len(sequences)
    for numbers, (batch_hidden, batch_pooled) in zip(batches, outputs):
        for row, number in enumerate(numbers):
            hidden[number] = batch_hidden[row, :len(sequences[number])]
            pooled[number] = batch_pooled[row]
    return np.concatenate(hidden + [np.stack(pooled)]).astype(np.float32)


def difference(ours, reference):
    """The largest difference of any number, and the least cosine of any row."""
    if ours.shape != reference.shape:
        return dict(error=f"shape {ours.shape}, expected {reference.shape}")
    dots = (ours.astype(np.float64) * reference).sum(1)
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(reference, axis=1)
    return dict(max_difference=float(np.abs(ours - reference).max()), least_cosine=float((dots / norms).min()))
