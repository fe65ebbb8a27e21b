"""A fine-tuned directory in transformers and in oxibert: the same answers, label names included?

    same_answers.py classify|tag|answer|choose DIR INPUT [OXIBERT]

INPUT is what `oxibert predict TASK` reads: texts (a tab between those of a pair), or JSON lines for answer and choose. Texts
longer than the model's limit are not compared. Prints the largest difference of any probability; more than 1e-4 is an error.
"""
import json
import subprocess
import sys

import torch
from transformers import (AutoTokenizer, BertForMultipleChoice, BertForQuestionAnswering, BertForSequenceClassification,
                          BertForTokenClassification)

TOLERANCE = 1e-4


def classify(model, tokenizer, line):
    encoded = tokenizer(*line.split("\t"), return_tensors="pt")
    logits = model(**encoded).logits[0]
    names = model.config.id2label
    if model.config.problem_type == "regression":
        return {names[0]: logits[0].item()}
    scores = logits.sigmoid() if model.config.problem_type == "multi_label_classification" else logits.softmax(-1)
    return {names[number]: score.item() for number, score in enumerate(scores)}


def tag(model, tokenizer, line):
    """The tag of every word's first piece and its probability, by the word's place."""
    encoded = tokenizer(line, return_tensors="pt", return_offsets_mapping=True)
    spans = encoded.pop("offset_mapping")[0].tolist()
    scores = model(**encoded).logits[0].softmax(-1)
    return {start: model.config.id2label[row.argmax().item()] for (start, end), row in zip(spans, scores) if end > start}


def answer(model, tokenizer, line):
    asked = json.loads(line)
    encoded = tokenizer(asked["question"], asked["context"], return_tensors="pt", return_offsets_mapping=True)
    spans = encoded.pop("offset_mapping")[0].tolist()
    out = model(**encoded)
    context = [at for at, (segment, (start, end)) in enumerate(zip(encoded["token_type_ids"][0], spans)) if segment == 1 and end > start]
    pairs = [(out.start_logits[0, a] + out.end_logits[0, b], a, b) for a in context for b in context if a <= b < a + 30]
    _, first, last = max(pairs)
    return asked["context"][spans[first][0]:spans[last][1]]


def choose(model, tokenizer, line):
    asked = json.loads(line)
    first, seconds = asked["context"], asked["choices"]
    encoded = tokenizer([first] * len(seconds), seconds, return_tensors="pt", padding=True)
    return model(**{name: value[None] for name, value in encoded.items()}).logits[0].softmax(-1).tolist()


def longest(task, tokenizer, line):
    asked = json.loads(line) if task in ("answer", "choose") else None
    texts = {"answer": lambda: [(asked["question"], asked["context"])], "choose": lambda: [(asked["context"], choice) for choice in asked["choices"]],
             "classify": lambda: [line.split("\t")], "tag": lambda: [(line,)]}[task]()
    return max(len(tokenizer(*text)["input_ids"]) for text in texts)


KINDS = {"classify": (BertForSequenceClassification, classify), "tag": (BertForTokenClassification, tag),
         "answer": (BertForQuestionAnswering, answer), "choose": (BertForMultipleChoice, choose)}


def difference(task, theirs, ours):
    if task == "classify":
        return max(abs(theirs[name] - score) for name, score in ours["scores"].items())
    if task == "choose":
        return max(abs(a - b) for a, b in zip(theirs, ours["scores"]))
    if task == "answer":
        return 0.0 if theirs == ours["answer"] else 1.0
    wrong = [entity for entity in ours["entities"] if not theirs.get(entity["start"], "O").endswith("-" + entity["label"])]
    return float(bool(wrong))


@torch.inference_mode()
def main():
    task, directory, path, *rest = sys.argv[1:]
    kind, ask = KINDS[task]
    model, tokenizer = kind.from_pretrained(directory).eval(), AutoTokenizer.from_pretrained(directory)
    lines = [line for line in open(path, encoding="utf8").read().split("\n") if line]
    limit = getattr(model.config, "oxibert_long", {}).get("max_length", model.config.max_position_embeddings)
    lines = [line for line in lines if longest(task, tokenizer, line) <= limit]
    command = [rest[0] if rest else "oxibert", "predict", task, "--model", directory, "--json"]
    said = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stdout
    ours = [json.loads(line) for line in said.splitlines()]
    assert len(ours) == len(lines), f"{len(lines)} inputs, {len(ours)} answers"
    worst = max(difference(task, ask(model, tokenizer, line), own) for line, own in zip(lines, ours))
    print(f"{task}: {len(lines)} answers, largest difference {worst:.2e}")
    sys.exit(worst > TOLERANCE)


main()
