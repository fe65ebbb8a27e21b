"""PyTorch + transformers fine-tuned as bench/finetune/run fine-tunes oxibert: same data, same recipe. One line of JSON.

Batches hold texts of like length and are padded to the longest, as a careful user would do. The clock runs while it trains
and measures after every epoch, as oxibert's does; reading and tokenizing do not count for either.
"""
import argparse
import gzip
import json
import random
import time

import numpy as np
import torch
from transformers import AutoTokenizer, BertForSequenceClassification, BertForTokenClassification

IGNORED = -100
COLUMNS = {"mrpc": ("#1 String", "#2 String", "Quality"), "rte": ("sentence1", "sentence2", "label"),
           "stsb": ("sentence1", "sentence2", "score"), "sst2": ("sentence", None, "label"),
           "chnsenticorp": ("text_a", None, "label")}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "task", "kind", "train", "dev"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--bf16", action="store_true", help="autocast")
    return parser.parse_args()


def lines(path):
    with (gzip.open(path, "rt", encoding="utf8") if path.endswith(".gz") else open(path, encoding="utf8")) as file:
        return file.read().split("\n")


def texts(path, task):
    if task == "cola":
        rows = [line.split("\t") for line in lines(path) if line]
        return [((row[3],), row[1]) for row in rows]
    head, *rows = [line.rstrip("\r").split("\t") for line in lines(path) if line]
    first, second, label = COLUMNS[task]
    place = {name.lstrip("\ufeff"): number for number, name in enumerate(head)}
    pick = lambda row: tuple(row[place[name]] for name in (first, second) if name)
    return [(pick(row), row[place[label]]) for row in rows if len(row) > place[label]]


def tagged(path):
    sentences, words, tags = [], [], []
    for line in lines(path) + [""]:
        parts = line.split()
        if not parts or parts[0] == "-DOCSTART-":
            if words:
                sentences.append((words, to_bio(tags)))
            words, tags = [], []
        else:
            words.append(parts[0])
            tags.append(parts[-1])
    return sentences


def to_bio(tags):
    begins = lambda at: tags[at][0] == "I" and (at == 0 or tags[at - 1][2:] != tags[at][2:])
    return ["B" + tag[1:] if begins(at) else tag for at, tag in enumerate(tags)]


def spans(tags):
    found, at = set(), 0
    while at < len(tags):
        end = at + 1
        if tags[at] != "O":
            while end < len(tags) and tags[end] == "I" + tags[at][1:]:
                end += 1
            found.add((at, end, tags[at][2:]))
        at = end
    return found


class Classes:
    def __init__(self, chosen, tokenizer):
        read = lambda path: texts(path, chosen.task)
        self.regression, train = chosen.regression, read(chosen.train)
        self.labels = [] if self.regression else sorted({label for _, label in train})
        number = float if self.regression else self.labels.index
        encode = lambda rows: [(tokenizer(*text, truncation=True, max_length=chosen.max_length), number(label)) for text, label in rows]
        self.train, self.dev = encode(train), encode(read(chosen.dev))
        self.model = BertForSequenceClassification.from_pretrained(chosen.model, num_labels=len(self.labels) or 1)

    def targets(self, batch, _width):
        return torch.tensor([label for _, label in batch])

    def figures(self, logits):
        meant = np.array([label for _, label in self.dev])
        if self.regression:
            said = np.array([row[0] for row in logits])
            ranks = lambda values: np.array([np.mean(np.flatnonzero(np.sort(values) == value)) for value in values])
            return dict(pearson=float(np.corrcoef(said, meant)[0, 1]), spearman=float(np.corrcoef(ranks(said), ranks(meant))[0, 1]))
        said = np.array([row.argmax() for row in logits])
        both = int(((said == 1) & (meant == 1)).sum())
        return dict(accuracy=float((said == meant).mean()), f1=2 * both / max(1, int((said == 1).sum() + (meant == 1).sum())))


class Tags:
    def __init__(self, chosen, tokenizer):
        train, self.sentences = tagged(chosen.train), tagged(chosen.dev)
        self.labels = sorted({tag for _, tags in train for tag in tags})
        encode = lambda rows: [self.encode(tokenizer, chosen.max_length, *row) for row in rows]
        self.train, self.dev = encode(train), encode(self.sentences)
        self.model = BertForTokenClassification.from_pretrained(chosen.model, num_labels=len(self.labels))

    def encode(self, tokenizer, limit, words, tags):
        encoded = tokenizer(words, is_split_into_words=True, truncation=True, max_length=limit)
        numbers = encoded.word_ids()
        first = [word is not None and word != (numbers[at - 1] if at else None) for at, word in enumerate(numbers)]
        return encoded, [self.labels.index(tags[word]) if begins else IGNORED for word, begins in zip(numbers, first)]

    def targets(self, batch, width):
        return torch.tensor([labels + [IGNORED] * (width - len(labels)) for _, labels in batch])

    def figures(self, logits):
        right = said_all = meant_all = 0
        for row, (_, labels), (_, tags) in zip(logits, self.dev, self.sentences):
            said = [self.labels[scores.argmax()] for scores, label in zip(row, labels) if label != IGNORED]
            said = spans(to_bio(said + ["O"] * (len(tags) - len(said))))
            meant = spans(tags)
            right, said_all, meant_all = right + len(said & meant), said_all + len(said), meant_all + len(meant)
        return dict(entity_f1=2 * right / max(1, said_all + meant_all))


def padded(batch):
    width = max(len(encoded["input_ids"]) for encoded, _ in batch)
    rows = lambda name: torch.tensor([encoded[name] + [0] * (width - len(encoded[name])) for encoded, _ in batch])
    return {name: rows(name) for name in ("input_ids", "token_type_ids", "attention_mask")}, width


def batches(data, size):
    data, found = data[:], []
    random.shuffle(data)
    for start in range(0, len(data), size * 50):
        near = sorted(data[start:start + size * 50], key=lambda example: -len(example[0]["input_ids"]))
        found += [near[at:at + size] for at in range(0, len(near), size)]
    random.shuffle(found)
    return found


@torch.inference_mode()
def measure(task):
    task.model.eval()
    order = sorted(range(len(task.dev)), key=lambda number: len(task.dev[number][0]["input_ids"]))
    logits = [None] * len(order)
    for start in range(0, len(order), 64):
        some = order[start:start + 64]
        inputs, _ = padded([task.dev[number] for number in some])
        for number, row in zip(some, task.model(**inputs).logits.numpy()):
            logits[number] = row
    task.model.train()
    return task.figures(logits)


def main():
    chosen = options()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    random.seed(chosen.seed)
    tokenizer = AutoTokenizer.from_pretrained(chosen.model)
    task = (Tags if chosen.kind == "tag" else Classes)(chosen, tokenizer)
    decays = lambda name: not name.endswith(("bias", "LayerNorm.weight"))
    named = list(task.model.named_parameters())
    groups = [dict(params=[p for name, p in named if decays(name)], weight_decay=0.01), dict(params=[p for name, p in named if not decays(name)], weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=chosen.lr, eps=1e-6, fused=True)
    steps = chosen.epochs * -(-len(task.train) // chosen.batch)
    warm = 0.1 * steps
    rate = lambda step: step / warm if step < warm else (steps - step) / (steps - warm)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    begin, best = time.perf_counter(), {}
    task.model.train()
    for _ in range(chosen.epochs):
        for batch in batches(task.train, chosen.batch):
            inputs, width = padded(batch)
            with torch.autocast("cpu", torch.bfloat16, enabled=chosen.bf16):
                loss = task.model(**inputs, labels=task.targets(batch, width)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
        figures = measure(task)
        goal = "spearman" if chosen.regression else "entity_f1" if chosen.kind == "tag" else "accuracy"
        best = figures if figures[goal] > best.get(goal, -1) else best
    print(json.dumps(dict(task=chosen.task, seed=chosen.seed, bf16=chosen.bf16, steps=steps, seconds=time.perf_counter() - begin, **best)))


if __name__ == "__main__":
    main()
