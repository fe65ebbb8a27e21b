"""Writes train.tsv, dev.tsv and test.tsv, a source and its translation per line.

    pairs.py multi30k|spanish DATA OUT

Multi30k has its own parts. Of the Spanish sentences, which come in order of length, every hundredth pair is dev, the next one is
test; sentences of these that also stand in the training part (some English sentences have several translations) are left out there.
"""
import gzip
import sys
from pathlib import Path


def lines(path):
    return path.read_text(encoding="utf8").split("\n")[:-1]


def multi30k(data):
    parts = dict(train="train", dev="val", test="test_2016_flickr")
    return {part: list(zip(lines(data / f"{name}.en"), lines(data / f"{name}.de"))) for part, name in parts.items()}


def spanish(data):
    with gzip.open(data / "spa.txt.gz", "rt", encoding="utf8") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")[:2]) for line in file]
    dev, test = pairs[::100], pairs[1::100]
    held_out = {source for source, _ in dev + test}
    return dict(train=[pair for pair in pairs if pair[0] not in held_out], dev=dev, test=test)


def main():
    kind, data, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    parts = multi30k(data / "multi30k") if kind == "multi30k" else spanish(data / "spa-eng")
    for part, pairs in parts.items():
        text = "".join(f"{source}\t{target}\n" for source, target in pairs if source.strip() and target.strip())
        (out / f"{part}.tsv").write_text(text, encoding="utf8")


if __name__ == "__main__":
    main()
