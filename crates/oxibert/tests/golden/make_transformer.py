"""Writes the figures of a tiny Transformer and of a tiny causal model that tests/golden_transformer.rs is held to, by PyTorch
and transformers (MarianMTModel, GPT2LMHeadModel).

    pip install torch transformers safetensors
    python make_transformer.py

Dropout is off. PyTorch runs the sequences padded, with attention masks; only real tokens are written down. The models are
saved by transformers itself, so that reading them is tested too.
"""

import copy
import json
import os

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, LR, BETAS, EPS, DECAY, SMOOTHING = 10, 1e-3, (0.9, 0.98), 1e-6, 0.01, 0.1
# A smaller epsilon would make whole steps of the rounding that is all the gradient that the keys' biases have.
PAD, START, END = 0, 2, 3

torch.manual_seed(5)
torch.set_num_threads(1)

MARIAN = dict(
    vocab_size=40, decoder_vocab_size=40, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
    decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=40, activation_function="relu", scale_embedding=True,
    max_position_embeddings=16, dropout=0.1, pad_token_id=PAD, eos_token_id=END, forced_eos_token_id=None,
    decoder_start_token_id=START,
)
GPT2 = dict(vocab_size=40, n_positions=16, n_embd=24, n_layer=2, n_head=3, n_inner=48, bos_token_id=START,
            eos_token_id=END)


def make_data():
    generator = torch.Generator().manual_seed(6)
    draw = lambda count: torch.randint(5, 40, (count,), generator=generator).tolist()
    pairs = [dict(source=[START, *draw(n), END], target=[START, *draw(m), END])
             for n, m in [(14, 5), (3, 13), (6, 6), (1, 1)]]
    return pairs, [[START, *draw(n), END] for n in (15, 4, 9, 1)]


def shake(model):
    """Far from the start, where no gradient is tiny."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.normal_(0, 0.2)
                if is_norm(name) and name.endswith("weight"):
                    parameter.add_(1)
    return model.eval()


def is_norm(name):
    return "layer_norm" in name or ".ln_" in name


def parameters(model):
    """Every parameter that learns, once."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def padded(sequences, pad=PAD):
    longest = max(map(len, sequences))
    return torch.tensor([s + [pad] * (longest - len(s)) for s in sequences])


def mask_of(sequences):
    return padded([[1] * len(s) for s in sequences], 0)


def real_rows(values, sequences):
    return torch.cat([values[row, : len(s)] for row, s in enumerate(sequences)])


def flat(weights, queries, keys):
    """Weights of attention [B, A, q, k], per sequence, without padding."""
    return torch.cat([weights[row, :, : len(q), : len(k)].reshape(-1) for row, (q, k) in enumerate(zip(queries, keys))])


class Pairs:
    def __init__(self, pairs):
        self.source = [p["source"] for p in pairs]
        self.given = [p["target"][:-1] for p in pairs]
        self.labels = torch.tensor([token for p in pairs for token in p["target"][1:]])

    def run(self, model):
        out = model(input_ids=padded(self.source), attention_mask=mask_of(self.source),
                    decoder_input_ids=padded(self.given), decoder_attention_mask=mask_of(self.given),
                    output_hidden_states=True, output_attentions=True)
        return out, real_rows(out.logits, self.given)

    def figures(self, out):
        figures = {"encoder": real_rows(out.encoder_last_hidden_state, self.source)}
        for layer, hidden in enumerate(out.decoder_hidden_states):
            figures[f"hidden.{layer}"] = real_rows(hidden, self.given)
        for layer, weights in enumerate(out.cross_attentions):
            figures[f"cross.{layer}"] = flat(weights, self.given, self.source)
        return figures


class Texts:
    def __init__(self, texts):
        self.given = [t[:-1] for t in texts]
        self.labels = torch.tensor([token for t in texts for token in t[1:]])

    def run(self, model):
        out = model(input_ids=padded(self.given), attention_mask=mask_of(self.given), output_hidden_states=True,
                    output_attentions=True)
        return out, real_rows(out.logits, self.given)

    def figures(self, out):
        figures = {}
        for layer, hidden in enumerate(out.hidden_states):
            figures[f"hidden.{layer}"] = real_rows(hidden, self.given)
        for layer, weights in enumerate(out.attentions):
            figures[f"attention.{layer}"] = flat(weights, self.given, self.given)
        return figures


def loss_of(logits, labels, smoothing=SMOOTHING):
    return torch.nn.functional.cross_entropy(logits, labels, label_smoothing=smoothing)


def all_figures(model, data):
    out, logits = data.run(model)
    loss = loss_of(logits, data.labels)
    loss.backward()
    figures = {"logits": logits, "loss": loss, "plain_loss": loss_of(logits, data.labels, 0.0), **data.figures(out)}
    return figures | {f"grad.{name}": p.grad for name, p in parameters(model).items()}


def ten_steps(model, data):
    named = parameters(model)
    decays = lambda name: not (name.endswith(".bias") or is_norm(name))
    groups = [dict(params=[p for n, p in named.items() if decays(n)], weight_decay=DECAY),
              dict(params=[p for n, p in named.items() if not decays(n)], weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=EPS)
    losses = []
    for _ in range(STEPS):
        model.zero_grad()
        loss = loss_of(data.run(model)[1], data.labels)
        loss.backward()
        losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(list(named.values()), 1.0)
        optimizer.step()
    print(losses)
    return {"losses": torch.tensor(losses), **named}


def variants(data):
    """The embeddings shared and tied in the other ways."""
    figures = {}
    for name, shared, tied in [("tied", False, True), ("apart", False, False)]:
        config = MarianConfig(**MARIAN, share_encoder_decoder_embeddings=shared, tie_word_embeddings=tied)
        model = shake(MarianMTModel(config))
        _, logits = data.run(model)
        figures |= {f"variant.{name}.logits": logits, f"variant.{name}.loss": loss_of(logits, data.labels)}
        figures |= {f"variant.{name}.{key}": value for key, value in parameters(model).items()}
    return figures


def greedy(model, sequences, **inputs):
    """What the model says, one sequence at a time; the given tokens come first."""
    said = []
    for ids in sequences:
        out = model.generate(torch.tensor([ids]), do_sample=False, num_beams=1, max_length=12, pad_token_id=PAD, **inputs)
        said.append(out[0].tolist())
    return said


def save(directory, name, tensors):
    whole = {key: value.detach().clone().contiguous().reshape(value.shape or (1,)) for key, value in tensors.items()}
    save_file(whole, os.path.join(directory, name), metadata={"format": "pt"})


def write(name, model, data, content, more):
    directory = os.path.join(HERE, name)
    model.save_pretrained(directory)
    os.remove(os.path.join(directory, "generation_config.json"))  # nothing here reads it
    with open(os.path.join(directory, "data.json"), "w") as file:
        json.dump(content, file)
    save(directory, "figures.safetensors", all_figures(copy.deepcopy(model), data) | more)
    save(directory, "steps.safetensors", ten_steps(copy.deepcopy(model), data))


def main():
    pairs, texts = make_data()
    marian = shake(MarianMTModel(MarianConfig(**MARIAN)))
    marian.final_logits_bias.normal_(0, 0.5)
    marian.config._attn_implementation = "eager"
    said = greedy(marian, [p["source"] for p in pairs])
    write("transformer", marian, Pairs(pairs), dict(pairs=pairs, greedy=said), variants(Pairs(pairs)))
    gpt2 = shake(GPT2LMHeadModel(GPT2Config(**GPT2)))
    gpt2.config._attn_implementation = "eager"
    said = greedy(gpt2, [t[:2] for t in texts])
    write("causal", gpt2, Texts(texts), dict(texts=texts, greedy=said), {})


main()
