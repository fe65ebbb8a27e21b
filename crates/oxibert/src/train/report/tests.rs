//! Pages of made-up runs.

use std::fs;

use super::*;
use crate::train::{Begin, Evaluation, Figures, Journal, Step};

fn figures(values: &[(&'static str, f64)]) -> Figures {
    let mut figures = Figures::default();
    values.iter().for_each(|(name, value)| figures.add(name, *value, 1.0));
    figures
}

fn log(watchers: &mut [&mut dyn Watcher], step: u64, loss: f64) {
    let figures = figures(&[("loss", loss), ("mlm_accuracy", 0.5)]);
    let step = Step {
        step,
        progress: step as f64 / 1000.0,
        epoch: 1.0,
        lr: 1e-4,
        gradient_norm: 1.0,
        figures: &figures,
        tokens: 1000,
        flops: 500_000_000,
        seconds: 1.0,
        elapsed: step as f64,
    };
    watchers.iter_mut().for_each(|watcher| watcher.notice(&Event::Log(step.clone())).unwrap());
}

fn evaluate(watchers: &mut [&mut dyn Watcher], step: u64, loss: f64) {
    let figures = figures(&[("loss", loss)]);
    let evaluation = Evaluation { step, figures: &figures, best: true, elapsed: step as f64 };
    watchers.iter_mut().for_each(|watcher| watcher.notice(&Event::Evaluation(evaluation.clone())).unwrap());
}

const BEGIN: Begin<'static> =
    Begin { title: "<script>alert(1)</script>", step: 0, steps: Some(1000), seconds: 0.0, peak: Some(1e9) };

/// A page without what differs between two moments.
fn read(path: &Path) -> String {
    let page = fs::read_to_string(path).unwrap();
    page.split("<footer>").next().unwrap().to_owned()
}

#[test]
fn nothing_from_outside_is_taken_for_html() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let evil = || "<script>alert('\"&')</script>".to_owned();
    let baseline = |figure: &str| Baseline { figure: figure.into(), value: 5.0, label: evil() };
    let about = About {
        title: evil(),
        settings: vec![(evil(), evil())],
        baselines: vec![baseline("loss"), baseline("no such figure")],
    };
    let mut report = Report::create(&path, about).unwrap();
    report.notice(&Event::Begin(BEGIN)).unwrap();
    log(&mut [&mut report], 1, 9.0);
    report.notice(&Event::Warning { step: 1, text: &evil() }).unwrap();
    let table = Body::Table { head: vec![evil()], rows: vec![vec![evil()]] };
    report.add(Section { title: evil(), body: table }).unwrap();
    report.add(Section { title: "text".into(), body: Body::Text(evil()) }).unwrap();
    let page = read(&path);
    assert!(!page.contains("<script") && !page.contains("alert('"));
    // Title twice, the run's own title, setting twice, baseline, warning, section with two cells, text.
    assert_eq!(page.matches("&lt;script&gt;").count(), 11);
}

#[test]
fn the_page_reloads_itself_until_the_run_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let refreshes = || read(&path).contains("http-equiv=\"refresh\"");
    let mut report = Report::create(&path, About::default()).unwrap();
    assert!(refreshes());
    report.notice(&Event::Begin(BEGIN)).unwrap();
    assert!(refreshes() && read(&path).contains("running"));
    report.notice(&Event::End { step: 1, complete: true, elapsed: 1.0 }).unwrap();
    assert!(!refreshes() && read(&path).contains("已完成"));

    drop(report);
    let mut failed = Report::create(&path, About::default()).unwrap();
    failed.notice(&Event::Begin(BEGIN)).unwrap();
    drop(failed);
    assert!(!refreshes() && read(&path).contains("已停止"));
}

#[test]
fn the_page_of_a_restart_is_that_of_a_run_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let [page, again, lines] = ["a.html", "b.html", "metrics.jsonl"].map(|name| dir.path().join(name));
    let mut journal = Journal::create(&lines).unwrap();
    let mut report = Report::create(&page, About::default()).unwrap();
    let mut both: [&mut dyn Watcher; 2] = [&mut journal, &mut report];
    both.iter_mut().for_each(|watcher| watcher.notice(&Event::Begin(BEGIN)).unwrap());
    for step in 1..=300 {
        log(&mut both, step, if step == 7 { f64::NAN } else { 100.0 / step as f64 });
        if step.is_multiple_of(100) {
            evaluate(&mut both, step, 200.0 / step as f64);
        }
    }
    let before = read(&page);
    log(&mut both, 301, 99.0); // A step that the restart has forgotten.

    let restored = Report::resume(&again, About::default(), &lines, 300).unwrap();
    assert_eq!(read(&again), before);
    assert!(before.contains(">300<") && before.contains("50 %") && before.contains("★"));
    drop(restored);
}

#[test]
fn a_long_run_is_a_small_page() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let mut report = Report::create(&path, About::default()).unwrap();
    (1..=20_000).for_each(|step| log(&mut [&mut report], step, 5.0 + (step % 7) as f64));
    (1..=500).for_each(|step| report.history.take(&evaluation_record(40 * step)));
    report.save().unwrap();
    let size = fs::metadata(&path).unwrap().len();
    assert!(size < 400_000, "{size} bytes");
}

fn evaluation_record(step: u64) -> journal::Record {
    let figures = figures(&[("loss", 3.0)]);
    let event = Event::Evaluation(Evaluation { step, figures: &figures, best: false, elapsed: 1.0 });
    journal::record(&event).unwrap()
}
