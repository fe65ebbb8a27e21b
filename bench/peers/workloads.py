"""The work as files of token ids, which every tool reads. Seeded: the same on every machine."""
import json

import numpy as np

from common import SHAPES, WORKLOADS

LENGTHS = [16, 32, 64, 128, 256, 512]
LENGTH_BATCH = 4
BATCHES = [1, 2, 4, 8, 16, 32, 64]
FIXED = {"1x128": 1, "8x128": 8, "32x128": 32}
RAGGED, RAGGED_SAMPLE = 256, 64
MASKED_SHARE = 0.15  # of the tokens, as in the paper


def ragged_lengths(count, seed):
    """Log-normal around 25 tokens, cut at 256: sentences and a few paragraphs."""
    drawn = np.random.RandomState(seed).normal(np.log(25), 0.7, count)
    return np.clip(np.round(np.exp(drawn)), 5, 256).astype(int).tolist()


def sequences(lengths, vocab, seed):
    """Random words between [CLS] and [SEP]."""
    random = np.random.RandomState(seed)
    first, cls, sep, _ = special(vocab)
    return [[cls] + random.randint(first, vocab, length - 2).tolist() + [sep] for length in lengths]


def special(vocab):
    """The first ordinary id, [CLS], [SEP], [MASK]: bert-base-uncased's, or a small vocabulary's."""
    return (1000, 101, 102, 103) if vocab > 10000 else (200, 2, 3, 4)


def pretraining_batch(batch, length, vocab, seed):
    """15 % of the tokens are replaced by [MASK] and asked for; each sequence has a class."""
    random = np.random.RandomState(seed)
    ids, masked, labels = sequences([length] * batch, vocab, seed), [], []
    for sequence in ids:
        places = sorted(random.choice(np.arange(1, length - 1), round(length * MASKED_SHARE), replace=False).tolist())
        masked.append(places)
        labels.append([sequence[place] for place in places])
        for place in places:
            sequence[place] = special(vocab)[3]
    return dict(ids=ids, masked=masked, labels=labels, next=random.randint(0, 2, batch).tolist())


def classification_batches(count, batch, vocab, seed):
    random = np.random.RandomState(seed)
    ids = sequences(ragged_lengths(count * batch, seed), vocab, seed)
    chunks = [ids[start:start + batch] for start in range(0, len(ids), batch)]
    return [dict(ids=chunk, next=random.randint(0, 2, batch).tolist()) for chunk in chunks]


def all_workloads():
    vocab, mini = SHAPES["base"]["vocab"], SHAPES["mini"]["vocab"]
    for name, batch in FIXED.items():
        yield name, sequences([128] * batch, vocab, 7)
    ragged = sequences(ragged_lengths(RAGGED, 1234), vocab, 7)
    yield "ragged", ragged
    yield "ragged-sample", ragged[::RAGGED // RAGGED_SAMPLE]
    for length in LENGTHS:
        yield f"length-{length}", sequences([length] * LENGTH_BATCH, vocab, 11)
    for batch in BATCHES:
        yield f"batch-{batch}", sequences([128] * batch, vocab, 13)
    yield "train-base", dict(batches=[pretraining_batch(8, 128, vocab, 3)])
    yield "train-mini", dict(batches=[pretraining_batch(32, 128, mini, 3)])
    yield "train-finetune", dict(batches=classification_batches(5, 16, vocab, 99))


def path(name):
    return WORKLOADS / f"{name}.json"


def write_all():
    WORKLOADS.mkdir(parents=True, exist_ok=True)
    for name, work in all_workloads():
        path(name).write_text(json.dumps(work))


if __name__ == "__main__":
    write_all()
