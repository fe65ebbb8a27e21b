"""Writes cases.json: what Google's original BERT tokenizer makes of some hard strings.

    python3 reference.py > cases.json

The rules are those of the original: clean, set Chinese characters apart, split at white space, lower-case, decompose and
drop Mn, split at punctuation, then the longest piece first. Only the standard library is needed.
"""

import json
import unicodedata

CHINESE = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
           (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]

TEXTS = [
    "Unaffable, playing!", "[MASK] [CLS]", "x[SEP]y", "ΟΔΥΣΣΕΥΣ", "ΑΣ. Σ ΣΑΣ' ΑΣΑ", "Α\u0001Σ", "İstanbul ISPARTA ısı", "Éa e\u0301 ÀÉÎ",
    "你好，中国。", "ab你cd", "\u2b820a\U0002b820b\U0002b920c", "a\u200bb\u00adc", "a\ue000b", "\u00a0a\u3000b\u2003c", "a\u2028b\u2029c", "a\u0085b",
    "a\u001cb\u001fc", "a\u000bb\u000cc", "\ufffdab\u0000", "a" * 200, "a" * 201, "é" * 200, "don't d'on", "a\u0301\u0316b", "\u0301", "\u037ea",
    "a\u1fefb", "ﬁ ﬂ", "½ ²", "Ｆｕｌｌ", "€5", "a_b-c", "..", "¿a?", "“a”", "가각", "ǅ", "ẞß", "K", "\u212b", "a\tb\r\nc".replace("\n", " "),
]

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "play", "##ing", "mask", "cls", "sep"]
VOCABULARY += [c for c in "abcdefghijklmnopqrstuvwxyz0123456789.,!?'[]_-;`¿“”€½²αβγδεζηθικλμνξοπρσςτυφχψωßııfi你好中国，。각"]
VOCABULARY += ["##" + token for token in VOCABULARY if len(token) == 1]
VOCABULARY = list(dict.fromkeys(VOCABULARY))


def is_space(c):
    return c in " \t\n\r" or unicodedata.category(c) == "Zs"


def is_control(c):
    return c not in "\t\n\r" and unicodedata.category(c) in ("Cc", "Cf")


def is_punctuation(c):
    ascii_punctuation = 33 <= ord(c) <= 126 and not c.isalnum()
    return ascii_punctuation or unicodedata.category(c).startswith("P")


def words(text, lower):
    text = "".join(" " if is_space(c) else c for c in text if ord(c) not in (0, 0xFFFD) and not is_control(c))
    text = "".join(f" {c} " if any(a <= ord(c) <= b for a, b in CHINESE) else c for c in text)
    found = []
    for word in text.split():
        if lower:
            word = unicodedata.normalize("NFD", word.lower())
            word = "".join(c for c in word if unicodedata.category(c) != "Mn")
        found += "".join(f" {c} " if is_punctuation(c) else c for c in word).split()
    return found


def pieces(word):
    if len(word) > 200:
        return ["[UNK]"]
    found, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            if prefix + word[start:end] in VOCABULARY:
                break
        else:
            return ["[UNK]"]
        found.append(prefix + word[start:end])
        start = end
    return found


def encode(text, lower):
    return [piece for word in words(text, lower) for piece in pieces(word)]


cases = [{"text": text, "uncased": encode(text, True), "cased": encode(text, False)} for text in TEXTS]
print(json.dumps({"vocabulary": VOCABULARY, "cases": cases}, ensure_ascii=False, indent=0))
