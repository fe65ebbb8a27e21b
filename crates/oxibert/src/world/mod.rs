//! A small made-up world that writes documents, so that everything runs without a corpus.
