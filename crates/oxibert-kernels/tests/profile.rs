//! The stopwatches, in a process of their own: everybody shares them.

use std::time::Duration;

use oxibert_kernels::profile::{self, Kernel};
use oxibert_kernels::softmax;

#[test]
fn only_what_runs_while_it_is_on_counts() {
    assert!(Kernel::ALL.iter().enumerate().all(|(number, kernel)| *kernel as usize == number));
    let mut x = vec![0.5; 1 << 20];
    softmax(&mut x, 1 << 10);
    profile::start();
    assert!(profile::stop().iter().all(|(_, time)| *time == Duration::ZERO));
    profile::start();
    softmax(&mut x, 1 << 10);
    let found = profile::stop();
    for (kernel, time) in found {
        assert_eq!(time > Duration::ZERO, kernel == Kernel::Loss, "{}", kernel.name());
    }
    softmax(&mut x, 1 << 10);
    assert_eq!(profile::stop(), found, "nothing is added once it is off");
}
