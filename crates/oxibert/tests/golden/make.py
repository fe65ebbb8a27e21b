"""Writes the figures of a tiny BERT that tests/golden.rs is held to, by PyTorch and transformers.

    pip install torch transformers safetensors
    python make.py

Dropout is off. PyTorch runs the sequences padded, with an attention mask; only real tokens are written down. No token
of the batch is 0: transformers keeps the gradient of the padding row at zero, and there is nothing to compare there.
"""

import copy
import json
import math
import os

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForPreTraining

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, LR, BETAS, EPS, DECAY = 10, 1e-3, (0.9, 0.999), 1e-6, 0.01

torch.manual_seed(1)
torch.set_num_threads(1)

CONFIG = dict(
    vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48,
    max_position_embeddings=16, type_vocab_size=2, hidden_act="gelu", layer_norm_eps=1e-12,
    hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, pad_token_id=0,
)


def make_batch():
    generator = torch.Generator().manual_seed(2)
    draw = lambda low, high, count: torch.randint(low, high, (count,), generator=generator).tolist()
    sequences = []
    for length, masked in [(16, [1, 7, 8, 14]), (7, [2, 5]), (11, [1, 9, 3]), (5, [2, 3])]:
        sequences.append(dict(
            ids=draw(5, 40, length), segments=[int(at > length // 2) for at in range(length)],
            masked=masked, labels=draw(5, 40, len(masked)), next=draw(0, 2, 1)[0],
        ))
    return sequences


def new_model():
    model = BertForPreTraining(BertConfig(**CONFIG, attn_implementation="eager"))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0, 0.3)
            if name.endswith("LayerNorm.weight"):
                parameter.add_(1)
    return model.eval()


def run(model, sequences):
    """The model's outputs over the padded batch, and the losses."""
    longest = max(len(s["ids"]) for s in sequences)
    pad = lambda values: values + [0] * (longest - len(values))
    tensor = lambda key: torch.tensor([pad(s[key]) for s in sequences])
    mask = torch.tensor([pad([1] * len(s["ids"])) for s in sequences])
    out = model(input_ids=tensor("ids"), token_type_ids=tensor("segments"), attention_mask=mask,
                output_hidden_states=True, output_attentions=True)
    rows = [(row, place) for row, s in enumerate(sequences) for place in s["masked"]]
    logits = torch.stack([out.prediction_logits[row, place] for row, place in rows])
    labels = torch.tensor([label for s in sequences for label in s["labels"]])
    mlm = torch.nn.functional.cross_entropy(logits, labels)
    nsp = torch.nn.functional.cross_entropy(out.seq_relationship_logits, torch.tensor([s["next"] for s in sequences]))
    return out, logits, mlm, nsp


def real_rows(hidden, sequences):
    return torch.cat([hidden[row, : len(s["ids"])] for row, s in enumerate(sequences)])


def parameters(model):
    """Every parameter once, under the names that our layout has."""
    return {name: p for name, p in model.named_parameters() if not name.startswith("cls.predictions.decoder")}


def forward_figures(model, sequences):
    out, logits, mlm, nsp = run(model, sequences)
    figures = {"mlm_logits": logits, "nsp_logits": out.seq_relationship_logits, "mlm_loss": mlm, "nsp_loss": nsp, "loss": mlm + nsp}
    for layer, hidden in enumerate(out.hidden_states):
        figures[f"hidden.{layer}"] = real_rows(hidden, sequences)
    for layer, weights in enumerate(out.attentions):
        lengths = [len(s["ids"]) for s in sequences]
        figures[f"attention.{layer}"] = torch.cat([weights[row, :, :n, :n].reshape(-1) for row, n in enumerate(lengths)])
    (mlm + nsp).backward()
    for name, parameter in parameters(model).items():
        figures[f"grad.{name}"] = parameter.grad
    return figures


def variant_figures(name, model, sequences):
    out, logits, mlm, nsp = run(model.eval(), sequences)
    last = real_rows(out.hidden_states[-1], sequences)
    return {f"variant.{name}.{key}": value for key, value in [("last", last), ("mlm_logits", logits), ("loss", mlm + nsp)]}


def variants(model, sequences):
    figures = {}
    for activation in ["gelu_new", "relu"]:
        other = BertForPreTraining(BertConfig(**{**CONFIG, "hidden_act": activation}, attn_implementation="eager"))
        other.load_state_dict(model.state_dict())
        figures |= variant_figures(activation, other, sequences)
    untied = copy.deepcopy(model)
    decoder = torch.nn.Parameter(torch.randn(CONFIG["vocab_size"], CONFIG["hidden_size"]) * 0.3)
    untied.cls.predictions.decoder.weight = decoder
    figures["untied.decoder"] = decoder
    return figures | variant_figures("untied", untied, sequences)


def decays(name):
    return not (name.endswith(".bias") or "LayerNorm" in name)


def steps_hf(model, sequences):
    named = parameters(model)
    groups = [dict(params=[p for n, p in named.items() if decays(n)], weight_decay=DECAY),
              dict(params=[p for n, p in named.items() if not decays(n)], weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=EPS)
    losses = []
    for _ in range(STEPS):
        losses.append(backward(model, sequences))
        torch.nn.utils.clip_grad_norm_(list(named.values()), 1.0)
        optimizer.step()
    return losses


def steps_google(model, sequences):
    """Adam without bias correction, decay beside the update, as in Google's optimization.py."""
    named = parameters(model)
    moments = {n: (torch.zeros_like(p), torch.zeros_like(p)) for n, p in named.items()}
    losses = []
    for _ in range(STEPS):
        losses.append(backward(model, sequences))
        torch.nn.utils.clip_grad_norm_(list(named.values()), 1.0)
        with torch.no_grad():
            for name, p in named.items():
                m, v = moments[name]
                m.mul_(BETAS[0]).add_(p.grad, alpha=1 - BETAS[0])
                v.mul_(BETAS[1]).addcmul_(p.grad, p.grad, value=1 - BETAS[1])
                update = m / (v.sqrt() + EPS) + (DECAY * p if decays(name) else 0)
                p.sub_(LR * update)
    return losses


def backward(model, sequences):
    model.zero_grad()
    _, _, mlm, nsp = run(model, sequences)
    (mlm + nsp).backward()
    return (mlm + nsp).item()


def save(name, tensors):
    whole = {key: value.detach().clone().contiguous().reshape(value.shape or (1,)) for key, value in tensors.items()}
    save_file(whole, os.path.join(HERE, name), metadata={"format": "pt"})


def main():
    sequences, model = make_batch(), new_model()
    with open(os.path.join(HERE, "batch.json"), "w") as file:
        json.dump({"sequences": sequences}, file, indent=1)
    with open(os.path.join(HERE, "config.json"), "w") as file:
        json.dump({"architectures": ["BertForPreTraining"], "model_type": "bert", **CONFIG}, file, indent=1)
    save("model.safetensors", parameters(model))
    figures = forward_figures(copy.deepcopy(model), sequences)
    assert math.isclose(figures["loss"].item(), figures["mlm_loss"].item() + figures["nsp_loss"].item(), rel_tol=1e-6)
    save("figures.safetensors", figures | variants(copy.deepcopy(model), sequences))
    steps = {}
    for name, take in [("hf", steps_hf), ("google", steps_google)]:
        trained = copy.deepcopy(model)
        steps[f"loss.{name}"] = torch.tensor(take(trained, sequences))
        steps |= {f"{name}.{key}": value for key, value in parameters(trained).items()}
        print(name, steps[f"loss.{name}"].tolist())
    save("steps.safetensors", steps)


main()
