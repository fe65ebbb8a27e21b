#!/usr/bin/env python3
"""Does `transformers` load what oxibert saves, and do both then say the same?

    python bench/transformers_loads.py --oxibert target/release/oxibert MODEL... [MODEL=VOCAB]

`oxibert convert` saves each MODEL (a checkpoint directory; =VOCAB names the vocabulary of one that has no tokenizer) anew.
Then three differences are printed, the largest of all texts:

  kept    transformers on the original - transformers on ours: every layer's hidden states, and the pooled vectors and the
          logits of the masked-language-model head where the model has them
  embed   oxibert embed on ours - transformers on ours: mean vectors
  fill    oxibert fill on ours - transformers on ours: probabilities of the likeliest tokens at a [MASK]

The exit code is 1 if one is larger than is allowed. Needs torch and transformers.
"""

import argparse
import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers

KEPT_TOLERANCE = 1e-5
OXIBERT_TOLERANCE = 1e-4
TEXTS = [
    "A man is playing a guitar.",
    "Unaffable, naïve and 12.50 km away: \"what?\"",
    "语言模型可以从大量文本中学习。",
    "E V Q L V E S G G G L V Q P G G S L R L S C A A S",
    "x",
]
MASKED = {True: "E V Q L V [MASK] S G G G L V Q P [MASK] G S L R L S C A A S", False: "Paris is the [MASK] of France."}
TOP = 5


class Model:
    """A checkpoint as transformers sees it."""

    def __init__(self, directory, vocab=None):
        self.tokenizer = (
            transformers.BertTokenizer(vocab, do_lower_case=False)
            if vocab
            else transformers.AutoTokenizer.from_pretrained(directory)
        )
        self.model, loading = transformers.BertForPreTraining.from_pretrained(
            directory, output_loading_info=True, dtype=torch.float32
        )
        self.model.eval()
        # A decoder that is tied to the word embeddings has no tensor of its own.
        missing = [name for name in loading["missing_keys"] if not name.startswith("cls.predictions.decoder")]
        self.has_head = not any(name.startswith("cls.predictions") for name in missing)
        self.has_pooler = not any(name.startswith("bert.pooler") for name in missing)
        needed = [name for name in missing if not name.startswith(("cls.", "bert.pooler"))]
        if needed:
            raise SystemExit(f"{directory}: transformers finds no {', '.join(sorted(needed))}")

    @torch.no_grad()
    def run(self, text):
        """Ids, the hidden states of all layers [L + 1, n, H], the pooled vector, logits [n, V]; None where a head lacks."""
        inputs = self.tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
        out = self.model(**inputs, output_hidden_states=True)
        hidden = torch.stack(out.hidden_states)[:, 0]
        pooled = self.model.bert.pooler(hidden[-1:]) if self.has_pooler else None
        logits = out.prediction_logits[0] if self.has_head else None
        return inputs["input_ids"][0].tolist(), hidden, pooled, logits


def oxibert(binary, *arguments, given=None):
    done = subprocess.run([binary, *map(str, arguments)], input=given, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"oxibert {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def difference(one, other):
    return (one - other).abs().max().item()


def kept(original, ours):
    """The largest differences of hidden states, pooled vectors and logits."""
    largest = [None, None, None]
    for text in TEXTS:
        (ids, *theirs), (our_ids, *mine) = original.run(text), ours.run(text)
        if ids != our_ids:
            raise SystemExit(f"{text!r}: the tokenizers disagree: {ids} and {our_ids}")
        for number, (one, other) in enumerate(zip(theirs, mine)):
            if (one is None) != (other is None):
                raise SystemExit(f"{text!r}: only one of the two has all heads")
            if one is not None:
                largest[number] = max(largest[number] or 0.0, difference(one, other))
    return largest


def embedded(binary, directory, ours):
    flags = ["--model", directory, "--json", "--pooling", "mean", "--normalize=false", "--max-length", 512]
    lines = oxibert(binary, "embed", *flags, given="\n".join(TEXTS) + "\n").splitlines()
    found = [torch.tensor(json.loads(line)["embedding"]) for line in lines]
    assert len(found) == len(TEXTS)
    return max(difference(vector, ours.run(text)[1][-1].mean(0)) for vector, text in zip(found, TEXTS))


def filled(binary, directory, ours):
    if not ours.has_head:
        return None
    text = MASKED[len(ours.tokenizer) < 100]
    flags = ["--model", directory, "--json", "--top", TOP]
    masks = json.loads(oxibert(binary, "fill", text, *flags))["masks"]
    ids, _, _, logits = ours.run(text)
    places = [place for place, token in enumerate(ids) if token == ours.tokenizer.mask_token_id]
    assert len(places) == len(masks)
    largest = 0.0
    for place, mask in zip(places, masks):
        expected = torch.softmax(logits[place].double(), -1)
        for candidate in mask["candidates"]:
            largest = max(largest, abs(candidate["probability"] - expected[candidate["id"]].item()))
    return largest


def compare(binary, argument):
    """One row: name, and its figures."""
    source, _, vocab = argument.partition("=")
    with tempfile.TemporaryDirectory() as place:
        ours = Path(place) / "ours"
        oxibert(binary, "convert", source, "--out", ours)
        if vocab:
            (ours / "vocab.txt").write_bytes(Path(vocab).read_bytes())
            (ours / "tokenizer_config.json").write_text(
                json.dumps({"do_lower_case": False, "tokenizer_class": "BertTokenizer"})
            )
        theirs, mine = Model(source, vocab or None), Model(ours, vocab or None)
        return [*kept(theirs, mine), embedded(binary, ours, mine), filled(binary, ours, mine)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oxibert", default="oxibert", metavar="BINARY")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    logging.disable(logging.WARNING)
    transformers.utils.logging.disable_progress_bar()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    print("| model | kept: hidden | kept: pooled | kept: logits | embed | fill |\n|---|---|---|---|---|---|")
    limits = [KEPT_TOLERANCE] * 3 + [OXIBERT_TOLERANCE, OXIBERT_TOLERANCE]
    failed = False
    for argument in arguments.models:
        figures = compare(arguments.oxibert, argument)
        failed |= any(figure is not None and not figure <= limit for figure, limit in zip(figures, limits))
        shown = " | ".join("no head" if figure is None else f"{figure:.1e}" for figure in figures)
        print(f"| {'/'.join(Path(argument.partition('=')[0]).parts[-2:])} | {shown} |", flush=True)
    print("FAILED: larger than is allowed" if failed else "all within 1e-5 (kept) and 1e-4 (oxibert beside transformers)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
