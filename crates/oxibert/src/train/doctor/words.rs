//! The doctor's texts: what is seen, what it usually means, what helps; in English, then in Chinese.

use super::masking::Difference;

pub(super) fn not_finite(step: u64, loss: f64, norm: f64) -> String {
    format!(
        "Step {step}: the loss is {loss} and the gradient's norm {norm}. Some number left the range of floating point, \
         usually because the learning rate is too high, and the weights are lost. Go back to an earlier checkpoint with half \
         the learning rate or a longer warm-up.\n\
         第 {step} 步：损失为 {loss}，梯度范数为 {norm}。有数值超出了浮点数范围，通常是学习率过高，此时权重已不可用。\
         请回到较早的检查点，把学习率减半，或延长预热。"
    )
}

pub(super) fn exploding(step: u64, norm: f64, median: f64) -> String {
    let times = norm / median;
    format!(
        "Step {step}: the gradient's norm is {norm:.3}, {times:.0} times its median of {median:.3}. A broken batch (garbage \
         text, one token repeated) or too high a learning rate does this; clipping limits the harm of a single one. If it \
         comes back, lower the learning rate, lengthen the warm-up, or look at the data there.\n\
         第 {step} 步：梯度范数为 {norm:.3}，是其中位数 {median:.3} 的 {times:.0} 倍。常见原因是某个批次的数据损坏（乱码、单个词元重复）\
         或学习率过高；梯度裁剪能限制单次的影响。若反复出现，请降低学习率、延长预热，或检查该处数据。"
    )
}

pub(super) fn rising(step: u64, loss: f64, best: f64) -> String {
    format!(
        "Step {step}: the training loss is {loss:.3}, far above its best of {best:.3}. The run has diverged, usually because \
         the learning rate is too high for the batch size. Go back to the best checkpoint with half the learning rate, a \
         longer warm-up or larger batches.\n\
         第 {step} 步：训练损失为 {loss:.3}，远高于其最好值 {best:.3}。训练已发散，通常是学习率相对批大小过高。\
         请回到最好的检查点，把学习率减半、延长预热或加大批次。"
    )
}

pub(super) fn stuck(step: u64, loss: f64, entropy: f64) -> String {
    format!(
        "Step {step}: the masked-token loss is {loss:.3}, no better than the {entropy:.3} of guessing by frequency alone. \
         The model does not use the context yet. Usually the learning rate is too low, or so high that attention collapsed; \
         or the batches are very small, or the lines of the text are shuffled. Try a rate between 1e-4 and 1e-3 with \
         warm-up, and larger batches.\n\
         第 {step} 步：遮盖词损失为 {loss:.3}，并不优于只按词频猜测的 {entropy:.3}。模型还没有利用上下文。\
         常见原因：学习率过低，或高到注意力塌缩；批次太小；文本的行被打乱。请尝试 1e-4 到 1e-3 之间的学习率并配合预热，以及更大的批次。"
    )
}

pub(super) fn coin(step: u64, accuracy: f64, loss: f64) -> String {
    let percent = 100.0 * accuracy;
    format!(
        "Step {step}: the sentence task is right in {percent:.1} % of cases, as a coin would be, while the masked-token loss \
         has come down to {loss:.3}. Usually the documents have only one sentence or are not separated by empty lines, so that \
         pairs carry no sign of their order; or many documents are copies of each other; or the learning rate is too high \
         for this task. Look at some pairs, remove copies, or train without the task.\n\
         第 {step} 步：句子任务的正确率为 {percent:.1} %，与掷硬币无异，而遮盖词损失已降到 {loss:.3}。常见原因：文档只有一句，\
         或文档之间没有空行，句对因而看不出先后；大量文档重复；或学习率对该任务过高。请查看若干句对，去除重复，或不使用该任务。"
    )
}

pub(super) fn no_rate(step: u64, progress: f64) -> String {
    let percent = 100.0 * progress;
    format!(
        "Step {step}: the learning rate is zero though only {percent:.0} % of the run is done, so nothing is learned. Usually \
         the schedule was made for fewer steps, or the rate was set to zero. Check the learning rate and the number of \
         steps.\n\
         第 {step} 步：训练只完成 {percent:.0} %，学习率却已为零，模型不再学习。通常是学习率计划的步数偏少，或学习率被设为零。\
         请检查学习率与总步数。"
    )
}

/// Pairs are those at the best evaluation and now.
pub(super) fn overfitting(step: u64, held_out: (f64, f64), training: (f64, f64)) -> String {
    format!(
        "Step {step}: the held-out loss rose from {:.3} to {:.3} while the training loss fell from {:.3} to {:.3}. The model \
         learns the training data by heart (overfitting). Keep the best checkpoint; more data, fewer epochs, more dropout or \
         a smaller model help.\n\
         第 {step} 步：留出数据的损失从 {:.3} 升到 {:.3}，训练损失却从 {:.3} 降到 {:.3}。模型在死记训练数据（过拟合）。\
         请保留最好的检查点；增加数据、减少轮数、加大 dropout 或换用更小的模型会有帮助。",
        held_out.0, held_out.1, training.0, training.1, held_out.0, held_out.1, training.0, training.1
    )
}

pub(super) fn masking(seen: &[Difference]) -> String {
    let list = |name: fn(&Difference) -> &'static str, instead: &str| {
        let each = |d: &Difference| {
            format!("{} {:.1} % {instead} {:.1} %", name(d), 100.0 * d.real, 100.0 * d.wanted)
        };
        seen.iter().map(each).collect::<Vec<_>>()
    };
    let english = list(|d| d.name, "instead of").join(", ");
    let chinese = list(|d| d.chinese, "而非").join("，");
    format!(
        "Masking is not what was asked for: {english}. Usually the texts are so short that their limit of masked tokens \
         cuts in, or a limit per text is too small. Set the limit to the maximal length times the share, or use longer \
         texts.\n\
         遮盖比例与设置不符：{chinese}。通常是文本太短、触及了每段遮盖数的上限，或该上限设得过小。请把上限设为最大长度乘以比例，或使用更长的文本。"
    )
}
