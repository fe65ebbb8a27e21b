//! Parquet: one column `embedding`, a list of floats per text. Built with the feature `parquet` only.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use oxibert::data::files::NewFile;
use oxibert::infer::Embeddings;
use parquet::data_type::FloatType;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::sink::Sink;

/// The three levels that the format asks of a list.
const SCHEMA: &str = "message schema {
    required group embedding (LIST) { repeated group list { required float element; } }
}";

/// A chunk of texts becomes a row group: memory holds one.
pub(super) struct Parquet {
    writer: SerializedFileWriter<NewFile>,
}

impl Parquet {
    pub(super) fn create(path: &Path) -> Result<Self> {
        // Numbers that are all different gain nothing from a dictionary or from statistics.
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let writer = SerializedFileWriter::new(NewFile::create(path)?, schema, Arc::new(properties))?;
        Ok(Self { writer })
    }
}

impl Sink for Parquet {
    fn write(&mut self, _texts: &[String], embeddings: &Embeddings) -> Result<()> {
        let definition = vec![1; embeddings.values.len()];
        // 0 begins a text's list, 1 goes on with it.
        let repetition: Vec<i16> =
            (0..embeddings.values.len()).map(|at| i16::from(at % embeddings.width != 0)).collect();
        let mut group = self.writer.next_row_group()?;
        let mut column = group.next_column()?.expect("the schema has a column");
        column.typed::<FloatType>().write_batch(&embeddings.values, Some(&definition), Some(&repetition))?;
        column.close()?;
        group.close()?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(self.writer.into_inner()?.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{ListAccessor, RowAccessor};

    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vectors.parquet");
        let mut sink = Box::new(Parquet::create(&path).unwrap());
        for values in [vec![1.0, -2.5], vec![3.0, 4.0, 5.0, 6.0]] {
            sink.write(&[], &Embeddings { values, width: 2, long_texts: 0 }).unwrap();
        }
        sink.finish().unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            let list = row.get_list(0).unwrap();
            [list.get_float(0).unwrap(), list.get_float(1).unwrap()]
        });
        assert_eq!(rows.collect::<Vec<_>>(), [[1.0, -2.5], [3.0, 4.0], [5.0, 6.0]]);
    }
}
