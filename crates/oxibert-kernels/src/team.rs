//! The threads that share a kernel's work.
//!
//! A forward pass of a small model is some hundred kernels of a tenth of a millisecond each, so handing work over must cost
//! next to nothing: helpers keep looking for the next kernel for a moment before they sleep, and the caller never waits
//! for a helper that has not begun. How many work together follows rayon's current pool, so that one setting holds for all
//! of a program; who does which part of the work never shows in the results.
//!
//! Work can also be cut above the kernels, into halves that have a squad of threads each ([`halves`]).

use std::any::Any;
use std::cell::Cell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, TryLockError};
use std::thread;

use crate::gemm::{in_bf16, wants_bf16};

/// How often a helper looks for the next kernel before it sleeps: some tens of microseconds.
const LOOKS: usize = 2_000;
/// How often the caller looks whether the helpers are done before it offers its core to others.
const PATIENCE: usize = 20_000;

thread_local! {
    /// Whether this thread is at work for a team: what it starts meanwhile, it does alone.
    static BUSY: Cell<bool> = const { Cell::new(false) };
    /// The squad that this thread leads, if it does.
    static SQUAD: Cell<Option<Squad>> = const { Cell::new(None) };
}

/// The threads of one half.
#[derive(Clone, Copy)]
struct Squad {
    number: usize,
    threads: usize,
}

/// How many threads the next kernel of this thread may use.
pub(crate) fn size() -> usize {
    match SQUAD.get() {
        _ if BUSY.get() => 1,
        Some(squad) => squad.threads,
        None => rayon::current_num_threads(),
    }
}

/// Runs `work` on this thread and on up to `size() - 1` helpers at the same time; returns when all are done.
/// Every one of them shall take parts of a common stock until nothing is left, as [`tasks`] and [`each`] do.
///
/// Inside of such work, or while another thread has the helpers, `work` runs on this thread alone.
fn together(work: &(dyn Fn() + Sync)) {
    let helpers = size() - 1;
    if helpers == 0 {
        return work();
    }
    static ALL: OnceLock<Team> = OnceLock::new();
    static SQUADS: [OnceLock<Team>; 2] = [const { OnceLock::new() }; 2];
    let team = SQUAD.get().map_or(&ALL, |squad| &SQUADS[squad.number]);
    team.get_or_init(Team::default).run(helpers, work);
}

/// Runs `f(0)`, `f(1)`, … `f(count - 1)`, begun in this order.
pub(crate) fn tasks(count: usize, f: impl Fn(usize) + Sync) {
    if count <= 1 {
        return (0..count).for_each(f);
    }
    let next = AtomicUsize::new(0);
    together(&|| {
        loop {
            let task = next.fetch_add(1, Relaxed);
            if task >= count {
                break;
            }
            f(task);
        }
    });
}

/// Runs `f` for every item, begun in order.
pub(crate) fn each<I>(mut items: I, f: impl Fn(I::Item) + Sync)
where
    I: Iterator + Send,
{
    if items.size_hint().1.is_some_and(|most| most <= 1) {
        return items.for_each(f);
    }
    let items = Mutex::new(&mut items);
    let take = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    together(&|| {
        while let Some(item) = take() {
            f(item);
        }
    });
}

/// Runs `f` for every item, begun in order, each on one thread: kernels that `f` calls do not share their work.
///
/// For work that is cut far above the kernels: threads then wait for each other once, not after every kernel.
pub fn side_by_side<I>(items: I, f: impl Fn(I::Item) + Sync)
where
    I: Iterator + Send,
{
    each(items, f);
}

/// Runs `f(0)` and `f(1)`, each with half of the threads for its kernels: so the halves wait for each other once, not after every
/// kernel. An odd number of threads is not cut: both then have all of them, one after the other.
///
/// What this thread wants of its products ([`in_bf16`]) holds in both.
pub fn halves(f: impl Fn(usize) + Sync) {
    let threads = size();
    if !threads.is_multiple_of(2) {
        return (0..2).for_each(f);
    }
    let bf16 = wants_bf16();
    tasks(2, |number| {
        let _role = Role::begin(false, Some(Squad { number, threads: threads / 2 }));
        in_bf16(bf16, || f(number));
    });
}

/// What a thread is for the time being; dropped, it is what it was before.
struct Role {
    busy: bool,
    squad: Option<Squad>,
}

impl Role {
    fn begin(busy: bool, squad: Option<Squad>) -> Self {
        Self { busy: BUSY.replace(busy), squad: SQUAD.replace(squad) }
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        BUSY.set(self.busy);
        SQUAD.set(self.squad);
    }
}

/// Runs a team's work on this thread: what it starts meanwhile, it does alone.
fn busy(work: &(dyn Fn() + Sync)) {
    let _role = Role::begin(true, SQUAD.get());
    work();
}

/// How many threads [`side_by_side`] has.
pub fn threads() -> usize {
    size()
}

/// What one call of [`together`] wants done. Helpers see it through a pointer while the call lasts.
struct Job<'a> {
    work: &'a (dyn Fn() + Sync),
}

/// The number of the job << 32 | seats left << 16 | helpers at work.
const JOB: u32 = 32;
const SEAT: u64 = 1 << 16;
const SEATS: u64 = 0xFFFF * SEAT;
const AT_WORK: u64 = 0xFFFF;

#[derive(Default)]
struct Shared {
    state: AtomicU64,
    job: AtomicPtr<Job<'static>>,
    asleep: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

#[derive(Default)]
struct Team {
    shared: Arc<Shared>,
    /// How many helpers there are; locked while they have a job.
    helpers: Mutex<usize>,
}

impl Team {
    fn run(&self, wanted: usize, work: &(dyn Fn() + Sync)) {
        let mut helpers = match self.helpers.try_lock() {
            Ok(helpers) => helpers,
            Err(TryLockError::Poisoned(helpers)) => helpers.into_inner(),
            Err(TryLockError::WouldBlock) => return busy(work),
        };
        while *helpers < wanted && self.hire(*helpers) {
            *helpers += 1;
        }
        let job = Job { work };
        self.shared.announce(&job, wanted.min(*helpers).min(0xFFFF));
        let mine = catch_unwind(AssertUnwindSafe(|| busy(work)));
        self.shared.finish();
        drop(helpers);
        let theirs = self.shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = mine.err().or(theirs) {
            resume_unwind(panic);
        }
    }

    /// Starts one more helper; the system may refuse.
    fn hire(&self, number: usize) -> bool {
        let shared = Arc::clone(&self.shared);
        thread::Builder::new().name(format!("kernels-{number}")).spawn(move || shared.help()).is_ok()
    }
}

impl Shared {
    fn announce(&self, job: &Job<'_>, seats: usize) {
        self.job.store(std::ptr::from_ref(job).cast_mut().cast(), Relaxed);
        let number = (self.state.load(Relaxed) >> JOB).wrapping_add(1);
        self.state.store((number << JOB) | (seats as u64 * SEAT), SeqCst);
        if self.asleep.load(SeqCst) > 0 {
            let _bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
            self.bell.notify_all();
        }
    }

    /// Takes the free seats away and waits for those who sit.
    fn finish(&self) {
        self.state.fetch_and(!SEATS, AcqRel);
        let mut looks = 0;
        while self.state.load(Acquire) & AT_WORK != 0 {
            looks += 1;
            if looks < PATIENCE { spin_loop() } else { thread::yield_now() }
        }
    }

    /// A helper's life.
    fn help(&self) {
        BUSY.set(true);
        let mut last = 0;
        loop {
            if (0..LOOKS).any(|_| {
                self.sit_down(&mut last) || {
                    spin_loop();
                    false
                }
            }) {
                self.work();
            } else {
                self.sleep(last);
            }
        }
    }

    /// Takes a seat at a job after `last`, if there is one.
    fn sit_down(&self, last: &mut u64) -> bool {
        let mut state = self.state.load(SeqCst);
        while state & SEATS != 0 && state >> JOB != *last {
            match self.state.compare_exchange_weak(state, state - SEAT + 1, AcqRel, Acquire) {
                Ok(_) => {
                    *last = state >> JOB;
                    return true;
                }
                Err(now) => state = now,
            }
        }
        false
    }

    fn work(&self) {
        // SAFETY: the seat was taken after `announce` stored the job, and `finish` waits for everybody who has a seat.
        let job = unsafe { &*self.job.load(Relaxed) };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(job.work)) {
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
        self.state.fetch_sub(1, Release);
    }

    /// Sleeps until the bell rings, unless a new job is there already.
    fn sleep(&self, last: u64) {
        let bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, SeqCst);
        let state = self.state.load(SeqCst);
        if state & SEATS == 0 || state >> JOB == last {
            drop(self.bell.wait(bed));
        }
        self.asleep.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_threads;

    #[test]
    fn every_task_runs_once() {
        for threads in [1, 2, 5] {
            for count in [0, 1, 2, 3, 100] {
                let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                on_threads(threads, || tasks(count, |task| _ = runs[task].fetch_add(1, Relaxed)));
                assert!(runs.iter().all(|runs| runs.load(Relaxed) == 1));
            }
        }
    }

    #[test]
    fn every_item_is_taken_once() {
        for len in [0, 1, 64, 1000] {
            let mut x = vec![0; len];
            on_threads(3, || {
                each(x.chunks_mut(7).enumerate(), |(i, x)| x.iter_mut().for_each(|x| *x += i + 1))
            });
            assert!(x.iter().enumerate().all(|(i, x)| *x == i / 7 + 1));
        }
    }

    #[test]
    fn helpers_really_help() {
        // Everybody waits for the other: one thread alone would never end.
        let arrived = AtomicUsize::new(0);
        Team::default().run(1, &|| {
            arrived.fetch_add(1, SeqCst);
            while arrived.load(SeqCst) < 2 {
                thread::yield_now();
            }
        });
        assert_eq!(arrived.into_inner(), 2);
    }

    #[test]
    fn work_inside_of_work_and_from_many_threads_is_done() {
        let sum = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    on_threads(2, || {
                        for _ in 0..200 {
                            tasks(4, |_| tasks(4, |task| _ = sum.fetch_add(task, Relaxed)));
                        }
                    });
                });
            }
        });
        assert_eq!(sum.into_inner(), 4 * 200 * 4 * 6);
    }

    #[test]
    fn halves_have_half_of_the_threads_each() {
        for (threads, of_half) in [(1, 1), (2, 1), (3, 3), (4, 2), (8, 4)] {
            on_threads(threads, || {
                let runs = [const { AtomicUsize::new(0) }; 2];
                halves(|half| {
                    assert_eq!(size(), of_half, "{threads} threads");
                    tasks(10, |_| assert_eq!(size(), 1, "inside of work"));
                    runs[half].fetch_add(1, Relaxed);
                });
                assert_eq!(runs.map(AtomicUsize::into_inner), [1, 1]);
                assert_eq!(size(), threads, "afterwards");
            });
        }
    }

    #[test]
    fn while_another_thread_has_the_helpers_work_is_done_alone() {
        let team = Team::default();
        let _taken = team.helpers.lock().unwrap();
        let seen = AtomicUsize::new(0);
        on_threads(3, || team.run(2, &|| _ = seen.fetch_add(size(), Relaxed)));
        assert_eq!(seen.into_inner(), 1, "one run, by one thread");
    }

    #[test]
    fn halves_want_what_their_caller_wants() {
        for wanted in [false, true] {
            on_threads(2, || in_bf16(wanted, || halves(|_| assert_eq!(wants_bf16(), wanted))));
        }
    }

    #[test]
    fn a_panic_in_a_half_reaches_the_caller() {
        on_threads(4, || {
            assert!(catch_unwind(|| halves(|half| assert!(half != 1, "the second"))).is_err());
            assert_eq!(size(), 4);
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_lives_on() {
        let caught = catch_unwind(|| on_threads(2, || tasks(8, |task| assert!(task != 5, "five"))));
        let message = caught.expect_err("task 5 panics");
        assert_eq!(message.downcast_ref::<&str>(), Some(&"five"));
        on_threads(2, || tasks(8, |_| ()));
    }
}
