"""Beam-4 decoding of a test set by oxibert, CTranslate2 and transformers, alternating, with one model: medians and ratios.

    decode.py MODEL test.tsv --oxibert PATH [--rounds 3] [--transformers-lines 200]

MODEL is a directory of `oxibert finetune translate`. All get f32 weights, 2 threads, the same tokens and the same search (beam 4,
length penalty 0.6, at most 50 tokens more than the source). CTranslate2 is tuned over its batch size and over one worker with two threads or
two with one. transformers gets lines of like length in batches of 32, and only the first lines, because it takes so long; its time is scaled
by tokens. Loading is not timed, for oxibert neither: `oxibert evaluate translate --json` tells the seconds of the search alone.
`same` is the share of lines that oxibert and CTranslate2 translate alike, blanks aside.
"""
import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import ctranslate2
import torch
from ctranslate2.converters import transformers as converters
from tokenizers import Tokenizer
from transformers import MarianMTModel

BEAM, PENALTY, MORE = 4, 0.6, 50


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--oxibert", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--transformers-lines", type=int, default=200)
    return parser.parse_args()


class Loader(converters.MarianMTLoader):
    """CTranslate2's loader expects Marian's own vocabulary: the last token for padding, and a start without an embedding. Ours has BERT's."""

    def _remove_pad_weights(self, spec):
        pass

    def set_decoder(self, spec, decoder):
        converters.BartLoader.set_decoder(self, spec, decoder)

    def set_config(self, config, model, tokenizer):
        config.eos_token, config.unk_token, config.decoder_start_token = "[SEP]", "[UNK]", "[CLS]"


class Oxibert:
    def __init__(self, chosen):
        self.translate = [chosen.oxibert, "translate", "--model", chosen.model, "--beam", str(BEAM), "--length-penalty", str(PENALTY), "--quiet"]
        self.command = [chosen.oxibert, "evaluate", "translate", "--model", chosen.model, "--data", chosen.data, "--beam", str(BEAM),
                        "--length-penalty", str(PENALTY), "--threads", "2", "--quiet", "--json"]

    def seconds(self, _sources):
        said = json.loads(subprocess.run(self.command, check=True, capture_output=True).stdout)
        return said["seconds"]

    def texts(self, lines):
        return subprocess.run(self.translate, input="\n".join(lines), check=True, capture_output=True, text=True).stdout.splitlines()


class CTranslate2:
    def __init__(self, chosen, sources):
        directory = tempfile.mkdtemp() + "/ct2"
        converters._MODEL_LOADERS["MarianConfig"] = Loader()
        ctranslate2.converters.TransformersConverter(str(chosen.model)).convert(directory)
        best = None
        for workers, threads in ((1, 2), (2, 1)):
            for tokens in (512, 1024, 2048, 4096):
                self.translator = ctranslate2.Translator(directory, compute_type="float32", inter_threads=workers, intra_threads=threads)
                self.tokens = tokens
                found = (self.seconds(sources), workers, threads, tokens)
                best = min(best or found, found)
        _, workers, threads, self.tokens = best
        self.chosen = best[1:]
        self.translator = ctranslate2.Translator(directory, compute_type="float32", inter_threads=workers, intra_threads=threads)

    def seconds(self, sources):
        begin = time.perf_counter()
        self.found = self.translator.translate_batch([tokens for tokens, _ in sources], beam_size=BEAM, length_penalty=PENALTY, batch_type="tokens",
                                        max_batch_size=self.tokens, max_decoding_length=MORE + max(len(ids) for _, ids in sources))
        return time.perf_counter() - begin

    def texts(self):
        return ["".join(result.hypotheses[0]).replace("##", "") for result in self.found]


class Transformers:
    def __init__(self, chosen):
        torch.set_num_threads(2)
        self.model = MarianMTModel.from_pretrained(chosen.model).eval()

    @torch.inference_mode()
    def seconds(self, sources):
        ids = sorted((ids for _, ids in sources), key=len)
        begin = time.perf_counter()
        for at in range(0, len(ids), 32):
            rows = ids[at:at + 32]
            width = max(map(len, rows))
            pad = self.model.config.pad_token_id
            inputs = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
            self.model.generate(input_ids=inputs, attention_mask=(inputs != pad).long(), num_beams=BEAM, length_penalty=PENALTY,
                                max_new_tokens=width + MORE)
        return time.perf_counter() - begin


def main():
    chosen = options()
    tokenizer = Tokenizer.from_file(str(chosen.model / "tokenizer.json"))
    lines = [line.split("\t")[0] for line in chosen.data.read_text(encoding="utf8").split("\n") if line]
    sources = [(encoding.tokens, encoding.ids) for encoding in tokenizer.encode_batch(lines)]
    some = sources[:chosen.transformers_lines]
    share = sum(len(ids) for _, ids in sources) / sum(len(ids) for _, ids in some)
    ours, theirs, slow = Oxibert(chosen), CTranslate2(chosen, sources), Transformers(chosen)
    seconds = dict(oxibert=[], ctranslate2=[], transformers=[])
    for _ in range(chosen.rounds):
        seconds["oxibert"].append(ours.seconds(sources))
        seconds["ctranslate2"].append(theirs.seconds(sources))
        seconds["transformers"].append(share * slow.seconds(some))
    alike = [ours.replace(" ", "") == theirs for ours, theirs in zip(ours.texts(lines), theirs.texts())]
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(json.dumps(dict(lines=len(sources), seconds=seconds, medians=medians, same=sum(alike) / len(lines), ctranslate2_settings=theirs.chosen,
                          ratios={name: medians[name] / medians["oxibert"] for name in ("ctranslate2", "transformers")})))


if __name__ == "__main__":
    main()
