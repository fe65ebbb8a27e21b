//! Lines of made-up runs.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::sleep;

use oxibert::train::{Evaluation, Figures};
use unicode_width::UnicodeWidthStr;

use super::*;

/// A writer whose text can be read.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn made_up(step: u64, progress: f64) -> Figures {
    let mut figures = Figures::default();
    let noise = (step * 7919 % 101) as f64 / 101.0 - 0.5;
    figures.add("loss", 2.4 + 8.0 * (-6.0 * progress).exp() + 0.4 * noise, 1.0);
    figures.add("mlm_loss", 2.0 + 8.0 * (-6.0 * progress).exp(), 1.0);
    figures.add("mlm_accuracy", 0.55 - 0.5 * (-5.0 * progress).exp(), 1.0);
    figures.add("nsp_accuracy", 0.95 - 0.45 * (-5.0 * progress).exp(), 1.0);
    figures
}

/// A run: steps, each with its log, and what comes with them.
fn replay(live: &mut Live, steps: u64, each: Duration) {
    let begin = Begin {
        title: "pretraining of mini (11.2 M parameters)",
        step: 0,
        steps: Some(steps),
        seconds: 0.0,
        peak: Some(1e11),
    };
    live.notice(&Event::Begin(begin)).unwrap();
    for step in 1..=steps {
        sleep(each);
        let progress = step as f64 / steps as f64;
        let figures = made_up(step, progress);
        let done = Step {
            step,
            progress,
            epoch: 3.0 * progress,
            lr: 1e-4,
            gradient_norm: 1.0,
            figures: &figures,
            tokens: 4096,
            flops: 28_000_000_000,
            seconds: 0.4,
            elapsed: 0.4 * step as f64,
        };
        live.notice(&Event::Step(done.clone())).unwrap();
        live.notice(&Event::Log(done)).unwrap();
        if step.is_multiple_of(steps / 4) {
            let evaluation =
                Evaluation { step, figures: &figures, best: step < steps, elapsed: 0.4 * step as f64 };
            live.notice(&Event::Evaluation(evaluation)).unwrap();
            live.notice(&Event::Saved { step, directory: Path::new("runs/迷你/checkpoint") }).unwrap();
        }
        if step == steps / 3 {
            let text = "Step 33: the loss does not fall. Lower the rate, lengthen the warm-up, or look at the data that \
                        stand there.\n第 33 步：损失没有下降。请降低学习率、延长预热，或检查该处数据。";
            live.notice(&Event::Warning { step, text }).unwrap();
        }
    }
    live.notice(&Event::End { step: steps, complete: true, elapsed: 0.4 * steps as f64 }).unwrap();
}

#[test]
fn a_log_file_gets_few_plain_lines() {
    let page = Page::default();
    replay(&mut Live::on(Screen::Plain(None), Box::new(page.clone())), 2000, Duration::ZERO);
    let expected = "\
pretraining of mini (11.2 M parameters)
step 1 of 2,000  loss 10.338  mlm  5.1 %  nsp 50.1 %  10.2 k tok/s  70 % of peak
step 500  held-out loss 4.373  mlm loss 3.785  mlm 40.7 %  nsp 82.1 %  best so far
step 500  saved in runs/迷你/checkpoint
warning: Step 33: the loss does not fall. Lower the rate, lengthen the warm-up, or look at the data that stand there.
         第 33 步：损失没有下降。请降低学习率、延长预热，或检查该处数据。
step 1,000  held-out loss";
    assert!(page.text().starts_with(expected), "{}", page.text());
    assert!(page.text().ends_with("\ndone after 2,000 steps, 13 min\n"), "{}", page.text());
}

#[test]
fn quiet_lets_warnings_through() {
    let page = Page::default();
    replay(&mut Live::on(Screen::Quiet, Box::new(page.clone())), 2000, Duration::ZERO);
    assert!(page.text().starts_with("warning: Step 33") && page.text().lines().count() == 2);
}

fn moment() -> Moment {
    Moment {
        step: 1234,
        steps: Some(20_000),
        progress: 0.25,
        figures: vec![("loss", 2.4131), ("mlm_loss", 2.0), ("mlm_accuracy", 0.542), ("nsp_accuracy", 0.91)],
        tokens_per_second: 12_345.0,
        share_of_peak: Some(0.78),
        left: Some(195.0),
    }
}

#[test]
fn what_does_not_fit_gives_way() {
    let cases = [
        (
            120,
            " 1,234/20,000  ━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  loss 2.413  mlm 54.2 %  nsp 91.0 %  12.3 k tok/s  78 % of peak  3 min left",
        ),
        (79, " 1,234/20,000  loss 2.413  mlm 54.2 %  nsp 91.0 %  12.3 k tok/s  3 min left"),
        (60, " 1,234/20,000  ━━╌╌╌╌╌╌╌  loss 2.413  mlm 54.2 %  3 min left"),
        (40, " 1,234/20,000  loss 2.413  3 min left"),
        (30, " 1,234/20,000  loss 2.413"),
        (10, " 1,234/20,000"),
    ];
    for (width, expected) in cases {
        assert_eq!(bar(&moment(), width), expected, "{width}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in 13..200 {
        assert!(bar(&moment(), width).width() <= width);
    }
}

#[test]
fn what_is_not_finite_is_shown_and_forgotten() {
    let with = |loss| Moment { figures: vec![("loss", loss)], ..moment() };
    let lost = with(2.0).mixed(with(f64::NAN), 0.1);
    assert!(plain(&lost).contains("loss NaN"));
    assert_eq!(lost.mixed(with(4.0), 0.1).figures, [("loss", 4.0)]);
    assert_eq!(with(2.0).mixed(with(4.0), 0.1).figures, [("loss", 2.2)]);
}

#[test]
fn long_texts_are_folded_between_words() {
    let text = "one two three-four\n第 33 步：损失没有下降。";
    assert_eq!(folded(text, 9), "one two\nthree-four\n第 33\n步：损失\n没有下\n降。");
    assert_eq!(folded(text, 80), text);
    assert_eq!(folded("", 9), "");
}

/// To look at: `cargo test -p oxibert-cli live::tests::look -- --ignored --nocapture`
#[test]
#[ignore = "draws for twenty seconds, for people"]
fn look() {
    replay(&mut Live::new(false), 500, Duration::from_millis(40));
}
