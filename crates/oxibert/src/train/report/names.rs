//! Names in both languages, and text that is safe inside HTML.

use super::axis::Unit;

/// Names that runs give their numbers, as people call them.
const NAMES: &[(&str, &str, &str)] = &[
    ("loss", "Loss", "损失"),
    ("accuracy", "Accuracy", "准确率"),
    ("mlm_loss", "Masked-token loss", "遮盖词损失"),
    ("mlm_accuracy", "Masked-token accuracy", "遮盖词准确率"),
    ("mlm_perplexity", "Perplexity", "困惑度"),
    ("nsp_loss", "Next-sentence loss", "下一句损失"),
    ("nsp_accuracy", "Next-sentence accuracy", "下一句准确率"),
    ("sop_loss", "Sentence-order loss", "句序损失"),
    ("sop_accuracy", "Sentence-order accuracy", "句序准确率"),
    ("perplexity", "Perplexity", "困惑度"),
    ("f1", "F1", "F1 值"),
    ("macro_f1", "Macro F1", "宏平均 F1"),
    ("entity_f1", "Entity F1", "实体 F1"),
    ("entity_precision", "Entity precision", "实体精确率"),
    ("entity_recall", "Entity recall", "实体召回率"),
    ("answer_f1", "Answer F1", "答案 F1"),
    ("exact_match", "Exact match", "完全匹配率"),
    ("matthews", "Matthews correlation", "马修斯相关系数"),
    ("pearson", "Pearson correlation", "皮尔逊相关系数"),
    ("spearman", "Spearman correlation", "斯皮尔曼相关系数"),
    ("bleu", "BLEU", "BLEU 值"),
    ("chrf", "chrF", "chrF 值"),
    ("precision", "Precision", "精确率"),
    ("recall", "Recall", "召回率"),
    (LR, "Learning rate", "学习率"),
    (NORM, "Gradient norm", "梯度范数"),
    (SPEED, "Tokens per second", "每秒词元数"),
];

pub(super) const LR: &str = "lr";
pub(super) const NORM: &str = "gradient_norm";
pub(super) const SPEED: &str = "tokens_per_second";

/// `Loss / 损失`; an unknown name as it is. Safe inside HTML.
pub(super) fn label(name: &str) -> String {
    match NAMES.iter().find(|(known, ..)| *known == name) {
        Some((_, english, chinese)) => both(english, chinese),
        None => escaped(&name.replace('_', " ")),
    }
}

/// A label in both languages. The stroke is a tag of its own, because the style sheet puts the two under each other
/// where there is little room.
pub(super) fn both(english: &str, chinese: &str) -> String {
    format!("{english}<i> / </i><span lang=\"zh\">{chinese}</span>")
}

/// How the numbers of this name are written.
pub(super) fn unit(name: &str) -> Unit {
    let last = name.rsplit('_').next().unwrap_or(name);
    match last {
        "accuracy" | "f1" | "precision" | "recall" | "share" => Unit::Percent,
        _ if name == SPEED => Unit::Count,
        _ => Unit::Number,
    }
}

/// Text from outside, safe between tags and in attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_units() {
        assert_eq!(label("loss"), "Loss<i> / </i><span lang=\"zh\">损失</span>");
        assert_eq!(label("<b>_x"), "&lt;b&gt; x");
        assert_eq!(unit("nsp_accuracy"), Unit::Percent);
        assert_eq!((unit("f1"), unit("mlm_loss"), unit(SPEED)), (Unit::Percent, Unit::Number, Unit::Count));
    }
}
