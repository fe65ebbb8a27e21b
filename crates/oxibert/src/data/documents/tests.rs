//! Where documents begin, in all formats, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

/// The paragraphs, each document's first with a `>`.
fn read(documents: &Documents) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for piece in documents.pieces() {
        piece?.paragraphs(|Paragraph { text, begins }| {
            all.push(format!("{}{text}", if begins { ">" } else { "" }))
        })?;
    }
    Ok(all)
}

fn of_text(text: &str, boundary: Boundary) -> Vec<String> {
    let options = DocumentOptions { boundary, ..DocumentOptions::default() };
    read(&Documents::of_corpus(Corpus::from_text("t", text), &options).unwrap()).unwrap()
}

/// In pieces of at most `limit` bytes.
fn in_pieces(text: &str, boundary: Boundary, limit: usize) -> Vec<String> {
    let input = Input::Memory { name: Path::new("t").into(), text: text.as_bytes().into() };
    let mut reader = text::Reader::new(&input, boundary);
    reader.set_limit(limit);
    let mut all = Vec::new();
    while let Some(piece) = reader.next_piece().unwrap() {
        piece
            .paragraphs(|Paragraph { text, begins }| {
                all.push(format!("{}{text}", if begins { ">" } else { "" }))
            })
            .unwrap();
    }
    all
}

#[test]
fn blank_lines_or_files_are_boundaries() {
    let text = "\n  \na b \r\n\tc\n\n \r\nd\n";
    assert_eq!(of_text(text, Boundary::BlankLine), [">a b", "c", ">d"]);
    assert_eq!(of_text(text, Boundary::File), [">a b", "c", "d"]);
    assert!(of_text("", Boundary::BlankLine).is_empty() && of_text(" \n\n", Boundary::BlankLine).is_empty());
}

#[test]
fn a_line_that_is_too_long_is_cut_and_no_document_ends_there() {
    // The second piece begins with the end of the long line.
    assert_eq!(in_pieces("aaa bbb \nc\n\nd\n", Boundary::BlankLine, 8), [">aaa bbb", "c", ">d"]);
    assert_eq!(in_pieces("aa bb cc\n\nd", Boundary::BlankLine, 4), [">aa", "bb", "cc", ">d"]);
}

proptest! {
    #[test]
    fn the_size_of_pieces_does_not_matter(text in "[ab\n]{0,60}", limit in 16usize..40) {
        // No line is longer than a piece.
        let text: String = text.split_inclusive('\n').filter(|line| line.len() < 16).collect();
        for boundary in [Boundary::BlankLine, Boundary::File] {
            prop_assert_eq!(in_pieces(&text, boundary, limit), of_text(&text, boundary));
        }
    }
}

fn save(directory: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, content).unwrap();
    path
}

fn open(path: &Path, column: &str) -> Result<Vec<String>> {
    let options = DocumentOptions { column: column.into(), ..DocumentOptions::default() };
    read(&Documents::open([path], &options)?)
}

#[test]
fn every_json_object_is_a_document() {
    let directory = tempfile::tempdir().unwrap();
    let lines = concat!(
        "{\"id\": 1, \"text\": \"one\\n\\n two \", \"tags\": [{\"text\": 5}]}\n\n",
        "{\"text\": null}\r\n{\"text\": \"\"}\n{\"text\": \"\\u4e09\"}"
    );
    let packed = zstd::encode_all(lines.as_bytes(), 1).unwrap();
    for (name, content) in
        [("a.jsonl", lines.as_bytes()), ("b.ndjson", lines.as_bytes()), ("c.JSON.zst", &packed)]
    {
        assert_eq!(open(&save(directory.path(), name, content), "text").unwrap(), [">one", "two", ">三"]);
    }
}

#[test]
fn bad_json_is_named_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let message =
        |content: &str| open(&save(directory.path(), "x.jsonl", content), "text").unwrap_err().to_string();
    let cases = [
        (
            "{\"text\": \"a\"}\n{\"text\": \"b}\n",
            "x.jsonl:2: byte 12 of the line: EOF while parsing a string",
        ),
        ("{\"text\": \"a\"} x", "x.jsonl:1: byte 15 of the line: trailing characters"),
        ("[\n", "x.jsonl:1: byte 0 of the line: invalid type: sequence, expected a JSON object"),
        ("{\"text\": 5}", "invalid type: integer `5`, expected a string in the field \"text\""),
        ("{\"text\": \"a\", \"text\": \"a\"}", "the field \"text\" stands twice"),
        ("{\"body\": \"a\", \"id\": 1}", "x.jsonl:1: no field \"text\"; there is body, id; name"),
        ("{}", "no field \"text\"; there is nothing"),
    ];
    for (content, part) in cases {
        let message = message(content);
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_json_line_may_be_longer_than_a_block_but_not_endless() {
    let read = |length: usize| {
        let text =
            format!("{{\"text\": \"a\"}}\n{{\"text\": \"{}\"}}\n{{\"text\": \"c\"}}\n", "b".repeat(length));
        let input = Input::Memory { name: Path::new("t").into(), text: text.into_bytes().into() };
        let mut reader = json_lines::Reader::new(&input, &"text".into());
        reader.set_limit(64);
        let mut all = Vec::new();
        while let Some(piece) = reader.next_piece()? {
            piece.paragraphs(|paragraph| all.push(paragraph.text.len()))?;
        }
        Ok::<_, Error>(all)
    };
    assert_eq!(read(1000).unwrap(), [1, 1000, 1]);
    let message = read(10_000).unwrap_err().to_string();
    assert!(message.starts_with("t:2: more than 4096 bytes without a line end"), "{message}");
}

#[test]
fn several_files_are_several_documents() {
    let directory = tempfile::tempdir().unwrap();
    let paths =
        [save(directory.path(), "a.txt", "a\n"), save(directory.path(), "b.jsonl", "{\"text\": \"b\"}")];
    let options = DocumentOptions { boundary: Boundary::File, ..DocumentOptions::default() };
    let documents = Documents::open(&paths, &options).unwrap();
    assert_eq!(read(&documents).unwrap(), [">a", ">b"]);
    let mut pieces = documents.pieces();
    pieces.by_ref().for_each(drop);
    assert_eq!(Some(pieces.consumed()), documents.size());
    // Named formats win over names.
    let options = DocumentOptions { format: Format::Text, ..options };
    assert_eq!(read(&Documents::open(&paths[1..], &options).unwrap()).unwrap(), [">{\"text\": \"b\"}"]);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_parquet_the_way_out_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let message = open(&save(directory.path(), "x.parquet", "PAR1"), "text").unwrap_err().to_string();
    assert!(message.contains("--features parquet"), "{message}");
}

#[cfg(feature = "parquet")]
mod of_parquet {
    use ::parquet::basic::{Compression, ZstdLevel};
    use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    const SCHEMA: &str = "message rows {
        required int64 id;
        optional binary text (UTF8);
        repeated binary tags (UTF8);
    }";

    /// Two groups of rows; every third text is null.
    fn write(path: &Path, compression: Compression) {
        let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let file = fs::File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
        for group in 0..2 {
            let texts: Vec<ByteArray> =
                (0..100).map(|row| ByteArray::from(&*format!("text {group} {row}\nmore"))).collect();
            let defined: Vec<i16> = (0..150).map(|row| i16::from(row % 3 != 2)).collect();
            let mut rows = writer.next_row_group().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&[7; 150], None, None).unwrap();
            column.close().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&texts, Some(&defined), None).unwrap();
            column.close().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&[], Some(&[0; 150]), Some(&[0; 150])).unwrap();
            column.close().unwrap();
            rows.close().unwrap();
        }
        writer.close().unwrap();
    }

    #[test]
    fn every_row_is_a_document() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.parquet");
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let gzip = Compression::GZIP(Default::default());
        for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd, gzip, Compression::LZ4_RAW]
        {
            write(&path, compression);
            let found = open(&path, "text").unwrap();
            assert_eq!(found.len(), 400);
            assert_eq!((&*found[2], &*found[3], &*found[398]), (">text 0 1", "more", ">text 1 99"));
        }
        let documents = Documents::open([&path], &DocumentOptions::default()).unwrap();
        let mut pieces = documents.pieces();
        pieces.by_ref().for_each(drop);
        assert_eq!(Some(pieces.consumed()), documents.size());
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.parquet");
        write(&path, Compression::UNCOMPRESSED);
        let message = |column| open(&path, column).unwrap_err().to_string();
        assert!(
            message("body").contains("no column \"body\"; there is id, text, tags; name"),
            "{}",
            message("body")
        );
        assert!(message("id").contains("holds INT64, expected text"));
        assert!(message("tags").contains("is a list"));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(message("text").contains("cannot be read as Parquet"));
        let options = DocumentOptions { format: Format::Parquet, ..DocumentOptions::default() };
        let error = Documents::of_corpus(Corpus::from_text("t", ""), &options).unwrap_err().to_string();
        assert!(error.contains("cannot be read from a stream"), "{error}");
    }
}
