"""PyTorch + transformers fine-tuned as bench/finetune/run fine-tunes oxibert: same data, same recipe. One line of JSON.

Batches hold texts of like length and are padded to the longest, as a careful user would do. The clock runs while it trains
and measures after every epoch, as oxibert's does; reading and tokenizing do not count for either.
"""
import argparse
import gzip
import json
import random
import re
import time
import unicodedata
from collections import Counter

import numpy as np
import torch
from transformers import AutoTokenizer, BertForQuestionAnswering, BertForSequenceClassification, BertForTokenClassification

IGNORED = -100
OVERLAP = 128  # Tokens that two windows of a paragraph share.
LONGEST_ANSWER = 30  # Tokens.
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


class Labelled:
    """Tasks for which an example has one target and one row of logits."""

    def loss(self, batch):
        inputs, width = padded(batch)
        return self.model(**inputs, labels=self.targets(batch, width)).loss

    def logits(self, inputs):
        return self.model(**inputs).logits.numpy()


class Classes(Labelled):
    goal = property(lambda self: "spearman" if self.regression else "accuracy")

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


class Tags(Labelled):
    goal = "entity_f1"

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


def questions(path):
    """(id, question, paragraph, [(answer, start)]) of a file in SQuAD's shape."""
    for article in json.loads("\n".join(lines(path)))["data"]:
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                answers = [(answer["text"], answer["answer_start"]) for answer in asked["answers"]]
                yield asked["id"], asked["question"], paragraph["context"], answers


def is_chinese(letter):
    return "\u4e00" <= letter <= "\u9fff"


def words(text, chinese):
    """As the official scripts of SQuAD and of CMRC see a text."""
    text = "".join(letter for letter in text.lower() if not unicodedata.category(letter).startswith("P"))
    if chinese:
        return re.findall(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+", text)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def common(said, meant, chinese):
    """Words that two texts share; in Chinese those of their longest common part."""
    if not chinese:
        return sum((Counter(said) & Counter(meant)).values())
    longest, row = 0, [0] * (len(meant) + 1)
    for word in said:
        row = [0] + [row[at] + 1 if word == other else 0 for at, other in enumerate(meant)]
        longest = max(longest, *row)
    return longest


class Answers:
    goal = "answer_f1"

    def __init__(self, chosen, tokenizer):
        self.tokenizer, self.limit = tokenizer, chosen.max_length
        self.train = [window for asked in questions(chosen.train) for window in self.windows(*asked[1:])]
        self.asked = list(questions(chosen.dev))
        self.dev, self.of = [], []
        for number, (_, question, paragraph, _) in enumerate(self.asked):
            windows = self.windows(question, paragraph, [])
            self.dev += windows
            self.of += [number] * len(windows)
        self.chinese = any(map(is_chinese, self.asked[0][2]))
        self.model = BertForQuestionAnswering.from_pretrained(chosen.model)

    def windows(self, question, paragraph, answers):
        """The paragraph's windows, each with the tokens that the first answer begins and ends with: [CLS] where it is not seen."""
        found = self.tokenizer(question, paragraph, truncation="only_second", max_length=self.limit, stride=OVERLAP,
                               return_overflowing_tokens=True, return_offsets_mapping=True)
        text, start = answers[0] if answers else ("", 0)
        if paragraph[start:start + len(text)] != text:
            return []
        windows = []
        for number, offsets in enumerate(found["offset_mapping"]):
            window = {name: found[name][number] for name in ("input_ids", "token_type_ids", "attention_mask")}
            places = [(at, offsets[at]) for at, part in enumerate(found.sequence_ids(number)) if part == 1]
            first = next((at for at, (begin, end) in places if begin <= start < end), 0)
            last = next((at for at, (begin, end) in places if begin < start + len(text) <= end), 0)
            window["places"], seen = places, text and first and last
            windows.append((window, (first, last) if seen else (0, 0)))
        return windows

    def loss(self, batch):
        inputs, _ = padded(batch)
        first, last = (torch.tensor([target[side] for _, target in batch]) for side in (0, 1))
        return self.model(**inputs, start_positions=first, end_positions=last).loss

    def logits(self, inputs):
        found = self.model(**inputs)
        return torch.stack([found.start_logits, found.end_logits], -1).numpy()

    def figures(self, logits):
        best = [(-np.inf, "")] * len(self.asked)
        for number, (window, _), row in zip(self.of, self.dev, logits):
            places, paragraph = window["places"], self.asked[number][2]
            if not places:
                continue
            first, last = places[0][0], places[-1][0] + 1
            sums = row[first:last, None, 0] + row[None, first:last, 1]
            sums[np.tril_indices(len(places), -1)] = sums[np.triu_indices(len(places), LONGEST_ANSWER)] = -np.inf
            begin, end = np.unravel_index(sums.argmax(), sums.shape)
            if sums[begin, end] > best[number][0]:
                best[number] = sums[begin, end], paragraph[places[begin][1][0]:places[end][1][1]]
        scores = [max(self.score(said, text) for text, _ in answers) for (_, said), (*_, answers) in zip(best, self.asked)]
        return dict(exact_match=float(np.mean([exact for exact, _ in scores])), answer_f1=float(np.mean([f1 for _, f1 in scores])))

    def score(self, said, meant):
        said, meant = words(said, self.chinese), words(meant, self.chinese)
        shared = common(said, meant, self.chinese)
        return float(said == meant), 2 * shared / max(1, len(said) + len(meant))


KINDS = dict(classify=Classes, tag=Tags, answer=Answers)


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
        for number, row in zip(some, task.logits(inputs)):
            logits[number] = row
    task.model.train()
    return task.figures(logits)


def main():
    chosen = options()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    random.seed(chosen.seed)
    tokenizer = AutoTokenizer.from_pretrained(chosen.model)
    task = KINDS[chosen.kind](chosen, tokenizer)
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
            with torch.autocast("cpu", torch.bfloat16, enabled=chosen.bf16):
                loss = task.loss(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
        figures = measure(task)
        best = figures if figures[task.goal] > best.get(task.goal, -1) else best
    print(json.dumps(dict(task=chosen.task, seed=chosen.seed, bf16=chosen.bf16, steps=steps, seconds=time.perf_counter() - begin, **best)))


if __name__ == "__main__":
    main()
