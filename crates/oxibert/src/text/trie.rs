//! WordPiece in linear time: a trie of the vocabulary with failure links.
//!
//! Greedy longest-match-first, as BERT defines it, looks for the longest piece at the start of a word, cuts
//! it off, and starts again, which walks some bytes many times. Here, as in "Fast WordPiece Tokenization"
//! (Song et al., 2021), every node of the trie knows what the greedy search would have cut off by the time
//! it can walk no further: the pieces to emit (its *pops*) and the node to go on from (its *failure link*).
//! So each byte of a word is walked once.
//!
//! The trie is over UTF-8 bytes: pieces begin and end at character boundaries, so bytes and characters give
//! the same matches. Transitions lie in a double array: the child of node `n` for byte `b` is slot
//! `base(n) ^ b`, valid if that slot's `check` is `n`.

/// No node.
const NONE: u32 = u32::MAX;
/// Where a word begins.
const ROOT: u32 = 0;
/// Where a piece that continues a word begins (the `##` pieces).
const CONTINUE: u32 = 1;
/// A transition stays within its block: `base ^ byte` changes the low eight bits only.
const BLOCK: usize = 256;
/// Free slots to try for a node with several children before a new block is opened; bounds the build.
const TRIES: usize = 64;

/// A node. Its link lies beside its transitions: a word's last node needs both, and one cache line has them.
#[derive(Debug, Clone, Copy)]
struct Slot {
    base: u32,
    check: u32,
    link: Link,
}

const EMPTY: Slot = Slot { base: 0, check: NONE, link: DEAD_END };
const DEAD_END: Link = Link { fail: NONE, pops: Pops::NONE };

#[derive(Debug, Clone, Copy)]
struct Link {
    fail: u32,
    pops: Pops,
}

/// What a node emits: a lone token, which is the rule, or the last link of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pops(u32);

impl Pops {
    const NONE: Self = Self(NONE);
    const CHAINED: u32 = 1 << 31;

    fn chained(self) -> Option<usize> {
        (self.0 & Self::CHAINED != 0).then_some((self.0 & !Self::CHAINED) as usize)
    }
}

/// A piece to emit, and the one before it. Nodes share the beginnings of their lists, so that the size
/// stays linear in the vocabulary's.
#[derive(Debug, Clone, Copy)]
struct Pop {
    token: u32,
    before: Pops,
}

/// A vocabulary's pieces, ready to match.
#[derive(Debug)]
pub(crate) struct Trie {
    slots: Vec<Slot>,
    chain: Vec<Pop>,
}

impl Trie {
    /// Builds the trie of `pieces`: the text without `##`, whether it continues a word, and the token id.
    pub(crate) fn new<'a>(pieces: impl Iterator<Item = (&'a [u8], bool, u32)>) -> Self {
        let mut builder = Builder::new();
        let (mut starts, mut continuations) = (Vec::new(), Vec::new());
        for (text, continues, token) in pieces {
            if continues { &mut continuations } else { &mut starts }.push((text, token));
        }
        builder.queue(ROOT, &mut starts);
        builder.queue(CONTINUE, &mut continuations);
        builder.build(&[starts, continuations])
    }

    #[inline]
    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        child(&self.slots, node, byte)
    }

    /// Appends the pieces of `word` to `ids`; false, and nothing appended, if it cannot be spelled.
    #[inline]
    pub(crate) fn match_word(&self, word: &[u8], ids: &mut Vec<u32>) -> bool {
        let before = ids.len();
        let mut node = ROOT;
        for &byte in word {
            loop {
                if let Some(next) = self.child(node, byte) {
                    node = next;
                    break;
                }
                match self.fail(node, ids) {
                    Some(next) => node = next,
                    None => return undo(ids, before),
                }
            }
        }
        while node != CONTINUE {
            match self.fail(node, ids) {
                Some(next) => node = next,
                None => return undo(ids, before),
            }
        }
        true
    }

    /// Emits the pops of `node` and follows its failure link.
    #[inline]
    fn fail(&self, node: u32, ids: &mut Vec<u32>) -> Option<u32> {
        let link = self.slots[node as usize].link;
        if link.fail == NONE {
            return None;
        }
        match link.pops.chained() {
            None => ids.push(link.pops.0),
            Some(_) => push_chain(&self.chain, link.pops, ids),
        }
        Some(link.fail)
    }
}

/// Appends the tokens of `pops` to `ids`.
fn push_chain(chain: &[Pop], mut pops: Pops, ids: &mut Vec<u32>) {
    let first = ids.len();
    while let Some(at) = pops.chained().filter(|_| pops != Pops::NONE) {
        ids.push(chain[at].token);
        pops = chain[at].before;
    }
    if pops != Pops::NONE {
        ids.push(pops.0);
    }
    ids[first..].reverse();
}

fn undo(ids: &mut Vec<u32>, length: usize) -> bool {
    ids.truncate(length);
    false
}

#[inline]
fn child(slots: &[Slot], node: u32, byte: u8) -> Option<u32> {
    let next = slots[node as usize].base ^ u32::from(byte);
    (slots[next as usize].check == node).then_some(next)
}

/// A node whose children are still to be made: the pieces of `list[first..last]` share its path.
struct Task {
    node: u32,
    list: usize,
    first: usize,
    last: usize,
    depth: usize,
}

/// Builds breadth first, because a node's failure link needs those of all shorter paths.
struct Builder {
    slots: Vec<Slot>,
    chain: Vec<Pop>,
    tasks: std::collections::VecDeque<Task>,
    free: FreeList,
}

type Pieces<'a> = Vec<(&'a [u8], u32)>;

impl Builder {
    fn new() -> Self {
        let mut builder = Self {
            slots: Vec::new(),
            chain: Vec::new(),
            tasks: Default::default(),
            free: FreeList::default(),
        };
        builder.add_block();
        for root in [ROOT, CONTINUE] {
            builder.take(root, NONE);
        }
        builder
    }

    fn queue(&mut self, root: u32, pieces: &mut Pieces<'_>) {
        pieces.sort_unstable();
        let list = root as usize;
        self.tasks.push_back(Task { node: root, list, first: 0, last: pieces.len(), depth: 0 });
    }

    fn build(mut self, lists: &[Pieces<'_>; 2]) -> Trie {
        while let Some(task) = self.tasks.pop_front() {
            self.expand(&lists[task.list], task);
        }
        Trie { slots: self.slots, chain: self.chain }
    }

    fn expand(&mut self, pieces: &Pieces<'_>, task: Task) {
        let Task { node, list, mut first, last, depth } = task;
        while first < last && pieces[first].0.len() == depth {
            first += 1; // the piece that ends at this node
        }
        let mut children: Vec<(u8, usize, usize)> = Vec::new();
        for (at, (text, _)) in pieces.iter().enumerate().take(last).skip(first) {
            match children.last_mut() {
                Some(child) if child.0 == text[depth] => child.2 = at + 1,
                _ => children.push((text[depth], at, at + 1)),
            }
        }
        if children.is_empty() {
            return;
        }
        let base = self.find_base(&children);
        self.slots[node as usize].base = base;
        for &(byte, _, _) in &children {
            self.take(base ^ u32::from(byte), node);
        }
        for (byte, first, last) in children {
            let child = base ^ u32::from(byte);
            let (text, token) = pieces[first];
            let ends_here = (text.len() == depth + 1).then_some(token);
            self.slots[child as usize].link = self.link(node, byte, ends_here);
            self.tasks.push_back(Task { node: child, list, first, last, depth: depth + 1 });
        }
    }

    /// The failure link and pops of the child of `parent` for `byte`.
    fn link(&mut self, parent: u32, byte: u8, token: Option<u32>) -> Link {
        if let Some(token) = token {
            return Link { fail: CONTINUE, pops: Pops(token) };
        }
        let Link { mut fail, mut pops } = self.slots[parent as usize].link;
        while fail != NONE {
            if let Some(next) = child(&self.slots, fail, byte) {
                return Link { fail: next, pops };
            }
            let link = self.slots[fail as usize].link;
            pops = self.append(pops, link.pops);
            fail = link.fail;
        }
        DEAD_END
    }

    /// The pops of `list` followed by those of `tail`.
    fn append(&mut self, list: Pops, tail: Pops) -> Pops {
        let mut tokens = Vec::new();
        push_chain(&self.chain, tail, &mut tokens);
        tokens.into_iter().fold(list, |before, token| {
            if before == Pops::NONE {
                return Pops(token);
            }
            self.chain.push(Pop { token, before });
            Pops((self.chain.len() - 1) as u32 | Pops::CHAINED)
        })
    }

    /// A base that puts every child in a free slot.
    fn find_base(&mut self, children: &[(u8, usize, usize)]) -> u32 {
        let fits = |free: &FreeList, base: u32| {
            children[1..].iter().all(|&(byte, _, _)| free.is_free(base ^ u32::from(byte)))
        };
        let mut slot = self.free.first();
        for _ in 0..TRIES {
            let Some(at) = slot else { break };
            let base = at ^ u32::from(children[0].0);
            if fits(&self.free, base) {
                return base;
            }
            slot = self.free.after(at);
        }
        self.add_block()
    }

    fn add_block(&mut self) -> u32 {
        let base = self.slots.len();
        self.slots.resize(base + BLOCK, EMPTY);
        self.free.add(BLOCK);
        base as u32
    }

    fn take(&mut self, slot: u32, parent: u32) {
        self.slots[slot as usize].check = parent;
        self.free.take(slot);
    }
}

/// The free slots, as a doubly linked list inside two arrays.
#[derive(Default)]
struct FreeList {
    next: Vec<u32>,
    previous: Vec<u32>,
    head: Option<u32>,
    tail: Option<u32>,
    taken: Vec<bool>,
}

impl FreeList {
    fn add(&mut self, slots: usize) {
        for _ in 0..slots {
            let slot = self.taken.len() as u32;
            self.taken.push(false);
            self.next.push(NONE);
            self.previous.push(self.tail.unwrap_or(NONE));
            match self.tail {
                Some(tail) => self.next[tail as usize] = slot,
                None => self.head = Some(slot),
            }
            self.tail = Some(slot);
        }
    }

    fn first(&self) -> Option<u32> {
        self.head
    }

    fn after(&self, slot: u32) -> Option<u32> {
        Some(self.next[slot as usize]).filter(|&next| next != NONE)
    }

    fn is_free(&self, slot: u32) -> bool {
        !self.taken[slot as usize]
    }

    fn take(&mut self, slot: u32) {
        let (before, after) = (self.previous[slot as usize], self.next[slot as usize]);
        match before {
            NONE => self.head = Some(after).filter(|&slot| slot != NONE),
            _ => self.next[before as usize] = after,
        }
        match after {
            NONE => self.tail = Some(before).filter(|&slot| slot != NONE),
            _ => self.previous[after as usize] = before,
        }
        self.taken[slot as usize] = true;
    }
}
