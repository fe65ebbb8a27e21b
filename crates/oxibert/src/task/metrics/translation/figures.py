"""Writes the figures that tests.rs is held to, by sacreBLEU.

    pip install sacrebleu==2.6.0
    python figures.py
"""

import json
import os
import random

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

HERE = os.path.dirname(os.path.abspath(__file__))

ENGLISH = [
    "A man in an orange hat staring at something.",
    "A Boston Terrier is running on lush green grass in front of a white fence.",
    "Five people wearing winter jackets and helmets stand in the snow, with snowmobiles in the background.",
    "The price rose from $1,234.50 to $1,300 (5.3%) in 2009-10.",
    "\"Why do you quarrel about the price of a fence?\" asked Teran, who was known to be patient.",
    "It's 10:30 a.m.; don't be late, Mr. O'Neil!",
    "See https://example.org/a_b?c=d&e=f#g or write to <info@example.org>.",
    "Two men are at the stove preparing food.",
]
CHINESE = [
    "面包师冯晓诚带上一条围巾，乘驿车从鼓林镇出发，去找活干。",
    "“哪里也比不上鼓林镇。”三天以后，冯晓诚坐在家里说。",
    "1929年还是1989年?",
    "巴黎-随着经济危机不断加深和蔓延，整个世界一直在寻找历史上的类似事件。",
    "他用 iPhone 13 花了 3.5 小时（约 210 分钟）下载 TensorFlow 2.0。",
    "路一直向西南，走了十六里……他看见了青泉城——红色的屋顶。",
]

# Name, tokenization, hypotheses, references.
CASES = [
    ("the same", "13a", ENGLISH, ENGLISH),
    ("nothing right", "13a", ["alpha beta gamma delta epsilon"], ["one two three four five"]),
    ("one word, right", "13a", ["Hello"], ["Hello"]),
    ("one word, wrong", "13a", ["Hello"], ["Goodbye"]),
    ("one-word sentences", "13a", ["Yes", "No", "Hello"], ["Yes", "Yes", "Hello"]),
    ("one word and a point", "13a", ["Hello.", "Stop!"], ["Hello.", "Halt!"]),
    ("three words: no n-gram of four", "13a", ["the cat sat"], ["the cat sat"]),
    ("four words", "13a", ["the cat sat down"], ["the cat sat up"]),
    ("an empty hypothesis", "13a", [""], ["The cat sat on the mat."]),
    ("an empty hypothesis among others", "13a", ["", "The cat sat on the mat."], ["A dog barks loudly.", "The cat sat on the mat."]),
    ("an empty reference", "13a", ["The cat sat on the mat."], [""]),
    ("an empty reference among others", "13a", ["Noise that nobody wanted.", "The cat sat on the mat."], ["", "The cat is on the mat."]),
    ("both empty", "13a", [""], [""]),
    ("all empty", "13a", ["", "", ""], ["", "", ""]),
    ("blanks only", "13a", ["   ", "\t"], ["a b c d e", " "]),
    ("odd blanks", "13a", ["a\u00a0b\u2003c\u3000d \x1c e\x1ff\x85g"], ["a b c d e f g"]),
    ("blanks at the ends", "13a", ["  the cat sat on the mat  "], ["the cat sat on the mat"]),
    ("shorter", "13a", ["the cat sat on the"], ["the cat sat on the mat in the hall"]),
    ("longer", "13a", ["the cat sat on the mat in the hall of the house"], ["the cat sat on the mat in the hall"]),
    ("repeated words are clipped", "13a", ["the the the the the the the"], ["the cat is on the mat"]),
    ("ties: the same n-gram three times", "13a", ["a b a b a b a b", "x y x y x"], ["a b a b c a b", "x y z x y x"]),
    ("smoothed once", "13a", ["the cat sat on a mat"], ["the cat was sitting on the mat"]),
    ("smoothed twice", "13a", ["a cat the mat"], ["the cat on a mat"]),
    ("smoothed three times", "13a", ["mat the on sat cat"], ["the cat sat on the mat"]),
    ("case", "13a", ["the Cat sat ON the mat."], ["The cat sat on the mat."]),
    ("word order", "13a", ["on the mat sat the cat"], ["the cat sat on the mat"]),
    ("punctuation", "13a", ["Hello, world! (Yes; \"no\": what?) [a] {b} <c> `d` ~e~ f|g h\\i j^k l_m n=o p+q r*s #t %u @v $w &x 'y'"],
     ["Hello world! Yes; no: what? [a] {b} <c> 'd' ~e~ f|g h/i j^k l_m n=o p+q r*s #t %u @v $w & x 'y'"]),
    ("points", "13a", ["Wait... what?!", "a..b", ".start", "end.", "...", ",.,.", "a.,b", "Mr. Smith, Jr., left."],
     ["Wait ... what?", "a . . b", ". start", "end .", ". . .", ", . , .", "a., b", "Mr Smith Jr left."]),
    ("numbers", "13a", ["1,000.5 1,000. 1.5, .5 ,5 5. 5, 3.14.15 1-2 -1 a-1 1-a 2009-10-11 10:30 3/4 50% $5.00"],
     ["1,000.5 1,000 . 1.5 , .5 5. 5 3.14 .15 1-2 -1 a-1 1 - a 2009-10-11 10:30 3/4 50 % $5"]),
    ("other digits are no digits", "13a", ["٣.٤ ３，４ ５.６ ².³"], ["٣.٤ ３, ４ ５ . ６ ².³"]),
    ("HTML entities", "13a", ["&quot;Tom &amp; Jerry&quot; &lt;b&gt; &amp;lt; &apos; &#39; &nbsp; a&b &amp;amp;"],
     ["\"Tom & Jerry\" <b> &lt; ' &#39; a & b &"]),
    ("skipped and broken lines", "13a", ["a <skipped>b</skipped> c-\nd e\nf g- \nh", "x <skipped>\n"],
     ["a b c d e f g h", "x"]),
    ("apostrophes and hyphens", "13a", ["don't can't it's well-known mother-in-law 'tis rock 'n' roll"],
     ["do n't can't its well-known mother in law 'tis rock'n'roll"]),
    ("accents and composed letters", "13a", ["Ein Mädchen läuft über saftig-grünes Gras.", "cafe\u0301 naïve ¿Qué? ¡Sí!"],
     ["Ein Madchen läuft über grünes Gras.", "café naïve ¿Que? ¡Si!"]),
    ("typographic marks", "13a", ["“Hello” – said he… ‘no’ «oui» 5 € — 3 £"], ["\"Hello\" - said he... 'no' «oui» 5 € — 3 £"]),
    ("emoji and rare characters", "13a", ["I 💛 Rust 👩‍👩‍👧 𠀀𠀁 now"], ["I 💛 Rust 👩‍👩‍👧 𠀀 now"]),
    ("Chinese as if it had blanks", "13a", CHINESE, CHINESE),
    ("the same in Chinese", "zh", CHINESE, CHINESE),
    ("Chinese", "zh", ["冯晓诚乘驿车从鼓林镇出发，去找工作。"], ["面包师冯晓诚带上一条围巾，乘驿车从鼓林镇出发，去找活干。"]),
    ("a Chinese character", "zh", ["好", "对"], ["好", "错"]),
    ("three Chinese characters", "zh", ["你好。"], ["你好。"]),
    ("Chinese with empty sides", "zh", ["", "他来了，她走了。", " "], ["我们走吧。", "他来了，她没走。", ""]),
    ("Chinese and Latin", "zh", ["他用iPhone13花了3.5小时(约210分钟)下载TensorFlow 2.0.", "A4纸、B2B和3.14,以及1-2"],
     ["他用 iPhone 13 花了 3.5 小时（约 210 分钟）下载 TensorFlow 2.0。", "A4纸,B2B和3.14，以及1—2."]),
    ("Chinese: points at the ends", "zh", [".5 a. 5.", "3.14.", ",a", "....", "a...b"], ["0.5 a . 5 .", "3.14 .", ", a", "...", "a…b"]),
    ("Chinese: marks of other blocks", "zh", ["“引号”——破折号……省略①②☆★→♪㎏㈱ａｂｃ１２３ﾊﾝ한글"],
     ["『引号』－－破折号...省略①②☆★→♪㎏㈱abc123ハン한글"]),
    ("Chinese: rare characters stay together", "zh", ["𠀀𠀁𠀂 𪛖 鿿 㐀㐁 豈更 ⼀⼁ ぁァ ㄅㄆ ㆠ ㇀"], ["𠀀 𠀁 𠀂 𪛖 鿿 㐀 㐁 豈 更 ⼀ ⼁ ぁ ァ ㄅ ㄆ ㆠ ㇀"]),
    ("Chinese: entities stay", "zh", ["&quot;你好&quot; &amp; <skipped> 再见"], ["\"你好\" & 再见"]),
    ("Chinese: odd blanks", "zh", ["\u3000他\u3000来\u2003了\u2000吗\x1f？ "], ["他来了吗？"]),
]


def disturbed(sentence, generator, by_character):
    """A translation with the usual faults: words left out, doubled, exchanged, replaced."""
    pieces = list(sentence) if by_character else sentence.split()
    out = []
    for piece in pieces:
        fault = generator.random()
        if fault < 0.1:
            continue
        out.append(generator.choice(pieces) if fault < 0.2 else piece)
        if fault > 0.95:
            out.append(piece)
    if len(out) > 2 and generator.random() < 0.5:
        at = generator.randrange(len(out) - 1)
        out[at], out[at + 1] = out[at + 1], out[at]
    return ("" if by_character else " ").join(out)


def random_cases():
    generator = random.Random(1)
    for number in range(6):
        for tokenize, sentences in [("13a", ENGLISH), ("zh", CHINESE)]:
            hypotheses = [disturbed(sentence, generator, tokenize == "zh") for sentence in sentences]
            yield f"faults {number}, {tokenize}", tokenize, hypotheses, sentences


def figures(name, tokenize, hypotheses, references):
    metric = BLEU(tokenize=tokenize)
    bleu = metric.corpus_score(hypotheses, [references])
    return {
        "name": name,
        "tokenize": tokenize,
        "hypotheses": hypotheses,
        "references": references,
        "words": [metric.tokenizer(hypothesis.rstrip()) for hypothesis in hypotheses],
        "score": bleu.score,
        "precisions": bleu.precisions,
        "brevity_penalty": bleu.bp,
        "hypothesis_length": bleu.sys_len,
        "reference_length": bleu.ref_len,
        "chrf": CHRF().corpus_score(hypotheses, [references]).score,
    }


cases = [figures(*case) for case in [*CASES, *random_cases()]]
with open(os.path.join(HERE, "sacrebleu.json"), "w", encoding="utf-8") as file:
    json.dump({"sacrebleu": sacrebleu.__version__, "cases": cases}, file, ensure_ascii=False, indent=1)
    file.write("\n")
