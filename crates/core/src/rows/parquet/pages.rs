//! The pages of a column, with checks of what the decoders assume, so that a damaged file causes an
//! error, not a panic.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// A reader for the column `leaf` of `group`.
pub(super) fn open_column(group: &dyn RowGroupReader, leaf: usize) -> Result<ColumnReader> {
    let column = group.metadata().column(leaf);
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    if start < 0 || column.compressed_size() < 0 {
        return Err(ParquetError::General("a column has a negative offset or length".into()));
    }
    let descriptor = group.metadata().schema_descr().column(leaf);
    let pages = Checked { pages: group.get_column_page_reader(leaf)?, has_dictionary: false };
    Ok(get_column_reader(descriptor, Box::new(pages)))
}

struct Checked {
    pages: Box<dyn PageReader>,
    has_dictionary: bool,
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            let coded = [Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY];
            if matches!(page, Page::DictionaryPage { .. }) {
                self.has_dictionary = true;
            } else if coded.contains(&page.encoding()) && !self.has_dictionary {
                return Err(ParquetError::General("a page without its dictionary".into()));
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
