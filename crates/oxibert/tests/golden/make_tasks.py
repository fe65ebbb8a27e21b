"""Writes the figures of the four fine-tuning heads that tests/golden_tasks.rs is held to, by PyTorch and transformers.

    pip install torch transformers safetensors
    python make_tasks.py

The encoder and the batch are those of make.py, with a head for each task. Dropout is off.
"""

import json
import os

import torch
from safetensors.torch import load_file, save_file
from transformers import (BertConfig, BertForMultipleChoice, BertForQuestionAnswering, BertForSequenceClassification,
                          BertForTokenClassification)

HERE = os.path.dirname(os.path.abspath(__file__))
HEADS = [("sequence", BertForSequenceClassification, 3), ("tokens", BertForTokenClassification, 5),
         ("span", BertForQuestionAnswering, 2), ("choice", BertForMultipleChoice, 1)]

torch.manual_seed(3)
torch.set_num_threads(1)


def load(name):
    with open(os.path.join(HERE, name)) as file:
        return json.load(file)


def padded(sequences):
    longest = max(len(s["ids"]) for s in sequences)
    pad = lambda values: values + [0] * (longest - len(values))
    rows = lambda make: torch.tensor([pad(make(s)) for s in sequences])
    return dict(input_ids=rows(lambda s: s["ids"]), token_type_ids=rows(lambda s: s["segments"]),
                attention_mask=rows(lambda s: [1] * len(s["ids"])))


def new_model(kind, outputs, config):
    model = kind(BertConfig(**config, num_labels=outputs, attn_implementation="eager"))
    encoder = load_file(os.path.join(HERE, "model.safetensors"))
    own = {name: value for name, value in encoder.items() if name in model.state_dict()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in own:
                parameter.copy_(own[name])
            else:
                parameter.normal_(0, 0.3)
    return model.eval()


def targets(name, sequences, lengths):
    longest = max(lengths)
    if name == "sequence":
        return dict(labels=torch.tensor([at % 3 for at in range(len(sequences))]))
    if name == "tokens":
        tags = [[(row + at) % 5 if at % 3 else -100 for at in range(n)] + [-100] * (longest - n) for row, n in enumerate(lengths)]
        return dict(labels=torch.tensor(tags))
    if name == "span":
        return dict(start_positions=torch.tensor([1, 0, 3, 2]), end_positions=torch.tensor([4, 0, 9, 2]))
    return dict(labels=torch.tensor([1, 0]))


def outputs_of(name, out, lengths):
    if name == "span":
        both = torch.stack([out.start_logits, out.end_logits], -1)
        return torch.cat([both[row, :n] for row, n in enumerate(lengths)])
    if name == "tokens":
        return torch.cat([out.logits[row, :n] for row, n in enumerate(lengths)])
    return out.logits


def span_loss(model, sequences, wanted):
    """One sequence at a time: the class's own loss over a batch takes padding for possible answers."""
    alone = lambda row: {name: values[row:row + 1] for name, values in wanted.items()}
    return sum(model(**padded([s]), **alone(row)).loss for row, s in enumerate(sequences)) / len(sequences)


def main():
    sequences, config = load("batch.json")["sequences"], load("config.json")
    config = {key: value for key, value in config.items() if key not in ("architectures", "model_type")}
    lengths = [len(s["ids"]) for s in sequences]
    figures = {}
    for name, kind, outputs in HEADS:
        model, batch = new_model(kind, outputs, config), padded(sequences)
        if name == "choice":
            batch = {key: value.reshape(2, 2, -1) for key, value in batch.items()}
        wanted = targets(name, sequences, lengths)
        out = model(**batch, **wanted)
        loss = span_loss(model, sequences, wanted) if name == "span" else out.loss
        loss.backward()
        figures[f"{name}.logits"], figures[f"{name}.loss"] = outputs_of(name, out, lengths), loss.reshape(1)
        for key, parameter in model.named_parameters():
            figures[f"{name}.grad.{key}"] = parameter.grad
            if key.startswith(("classifier", "qa_outputs")):
                figures[f"{name}.{key}"] = parameter
        print(name, loss.item())
    whole = {key: value.detach().clone().contiguous() for key, value in figures.items()}
    save_file(whole, os.path.join(HERE, "tasks.safetensors"), metadata={"format": "pt"})


main()
