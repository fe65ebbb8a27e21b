"""A training step of PyTorch + transformers, as its users write it.

BertForPreTraining computes logits at every position and takes the loss where a label stands; it is left so, since that is
what the library does. Fine-tuning is BertForSequenceClassification. The gradient's norm is clipped to 1 as in Trainer.
"""
import numpy as np
import torch
from safetensors.torch import load_file
from transformers import BertForPreTraining, BertForSequenceClassification

from common import ADAMW, CLIP, MODELS, WEIGHT_DECAY, pad, read_json

OPTIMIZERS = {"fused": dict(fused=True), "default": {}}
IGNORED = -100  # transformers' label for "not asked"


class Learner:
    def __init__(self, task, model, setup):
        self.task = task
        self.model = open_model(task, MODELS / model, setup["attention"]).train()
        self.forward = torch.compile(self.model) if setup["compiled"] else self.model
        self.optimizer = torch.optim.AdamW(groups(self.model), **ADAMW, **OPTIMIZERS[setup["optimizer"]])

    def batches(self, path):
        return [inputs(self.task, batch) for batch in read_json(path)["batches"]]

    def step(self, batch):
        loss = self.forward(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()


def open_model(task, directory, attention):
    if task == "pretraining":
        return BertForPreTraining.from_pretrained(directory, attn_implementation=attention)
    model = BertForSequenceClassification.from_pretrained(directory, attn_implementation=attention, num_labels=2)
    # oxibert's two classes are its next-sentence head: both begin with the same numbers
    weights = load_file(directory / "model.safetensors")
    with torch.no_grad():
        model.classifier.weight.copy_(weights["cls.seq_relationship.weight"])
        model.classifier.bias.copy_(weights["cls.seq_relationship.bias"])
    return model


def groups(model):
    """Biases and LayerNorms do not decay."""
    decays = lambda name: not name.endswith(("bias", "LayerNorm.weight"))
    named = list(model.named_parameters())
    return [dict(params=[p for name, p in named if decays(name)], weight_decay=WEIGHT_DECAY),
            dict(params=[p for name, p in named if not decays(name)], weight_decay=0.0)]


def inputs(task, batch):
    ids, mask = pad(batch["ids"])
    tensors = dict(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask),
                   token_type_ids=torch.zeros(ids.shape, dtype=torch.long))
    classes = torch.tensor(batch["next"])
    if task == "classification":
        return dict(**tensors, labels=classes)
    labels = np.full_like(ids, IGNORED)
    for row, (places, tokens) in enumerate(zip(batch["masked"], batch["labels"])):
        labels[row, places] = tokens
    return dict(**tensors, labels=torch.from_numpy(labels), next_sentence_label=classes)
