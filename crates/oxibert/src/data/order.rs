//! Examples in random order, epoch after epoch, from any position on.

use super::pretrain::Position;
use crate::random::Random;
use crate::{Error, Result};

/// The order of a number of examples: a function of the seed and the epoch alone.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    seed: u64,
    position: Position,
    /// Of this epoch.
    numbers: Vec<u32>,
}

impl Order {
    /// From the first epoch's beginning on.
    ///
    /// # Panics
    /// If there are no examples.
    pub(crate) fn new(seed: u64, count: usize) -> Self {
        assert!(count > 0, "an order of nothing");
        let mut order = Self { seed, position: Position::default(), numbers: (0..count as u32).collect() };
        order.shuffle();
        order
    }

    fn shuffle(&mut self) {
        self.numbers.sort_unstable();
        Random::new(self.seed, "order of examples", self.position.epoch).shuffle(&mut self.numbers);
    }

    /// Examples of this epoch that are still to come, one at least.
    pub(crate) fn left(&self) -> usize {
        self.numbers.len() - self.position.index
    }

    /// The next example's number.
    pub(crate) fn peek(&self) -> usize {
        self.numbers[self.position.index] as usize
    }

    /// The same, and goes on.
    pub(crate) fn next(&mut self) -> usize {
        let number = self.peek();
        self.advance();
        number
    }

    /// Goes on to the one behind it; behind an epoch's last comes the next epoch's first.
    pub(crate) fn advance(&mut self) {
        self.position.index += 1;
        if self.position.index == self.numbers.len() {
            self.position = Position { epoch: self.position.epoch + 1, index: 0 };
            self.shuffle();
        }
    }

    /// Where it stands.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// How often all examples have been seen, as a fraction.
    pub(crate) fn epochs(&self) -> f64 {
        self.position.epoch as f64 + self.position.index as f64 / self.numbers.len() as f64
    }

    /// Goes on from a position.
    pub(crate) fn seek(&mut self, position: Position) -> Result<()> {
        if position.index >= self.numbers.len() {
            let problem =
                format!("example {} of {}: these are other data", position.index, self.numbers.len());
            return Err(Error::setting("position", problem));
        }
        self.position = position;
        self.shuffle();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(order: &mut Order, count: usize) -> Vec<usize> {
        (0..count).map(|_| order.next()).collect()
    }

    #[test]
    fn every_epoch_has_all_in_an_order_of_its_own() {
        let mut order = Order::new(1, 20);
        let [first, second] = [(); 2].map(|()| take(&mut order, 20));
        assert_ne!(first, second);
        for mut epoch in [first, second] {
            epoch.sort_unstable();
            assert_eq!(epoch, (0..20).collect::<Vec<_>>());
        }
        assert_eq!((order.epochs(), order.position()), (2.0, Position { epoch: 2, index: 0 }));
    }

    #[test]
    fn a_position_leads_back() {
        let mut order = Order::new(1, 7);
        take(&mut order, 17);
        let mut again = Order::new(1, 7);
        again.seek(order.position()).unwrap();
        assert_eq!(take(&mut again, 30), take(&mut order, 30));
        assert!(again.seek(Position { epoch: 0, index: 7 }).is_err());
    }
}
