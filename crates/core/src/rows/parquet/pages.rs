//! The pages of a column, with checks of what the decoders assume, so that a damaged file causes an
//! error, not a panic.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

use super::deltas::{Deltas, check_lengths};

/// A reader for the column `leaf` of `group`.
pub(super) fn open_column(group: &dyn RowGroupReader, leaf: usize) -> Result<ColumnReader> {
    let column = group.metadata().column(leaf);
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    if start < 0 || column.compressed_size() < 0 {
        return Err(ParquetError::General("a column has a negative offset or length".into()));
    }
    let descriptor = group.metadata().schema_descr().column(leaf);
    let pages = Checked {
        pages: group.get_column_page_reader(leaf)?,
        has_dictionary: false,
        repetition: descriptor.max_rep_level(),
        definition: descriptor.max_def_level(),
    };
    Ok(get_column_reader(descriptor, Box::new(pages)))
}

/// The most levels of a page of lists, all of which can belong to one row. Writers put at most as many
/// missing lists into a page, where they take no space.
const MAX_LEVELS: u32 = 1 << 26;

struct Checked {
    pages: Box<dyn PageReader>,
    has_dictionary: bool,
    /// The highest levels of the column.
    repetition: i16,
    definition: i16,
}

impl Checked {
    fn check(&mut self, page: &Page) -> Result<()> {
        let (values, n) = match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                self.has_dictionary = true;
                let fits = usize::try_from(*num_values).is_ok_and(|n| n <= buf.len());
                return if fits {
                    Ok(())
                } else {
                    Err(damaged("a dictionary is shorter than it says"))
                };
            }
            Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
                let mut rest = &buf[..];
                let levels = [
                    (self.repetition, *rep_level_encoding),
                    (self.definition, *def_level_encoding),
                ];
                for (highest, encoding) in levels.into_iter().filter(|(highest, _)| *highest > 0) {
                    rest = after_levels(rest, highest, encoding, *num_values)
                        .ok_or_else(|| damaged("the levels of a page end too early"))?;
                }
                (rest, *num_values)
            }
            Page::DataPageV2 {
                buf, num_values, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let levels = def_levels_byte_len.checked_add(*rep_levels_byte_len);
                let rest = levels.and_then(|levels| buf.get(usize::try_from(levels).ok()?..));
                let rest = rest.ok_or_else(|| damaged("the levels of a page end too early"))?;
                (rest, *num_values)
            }
        };
        if self.repetition > 0 && n > MAX_LEVELS {
            let problem = format!("a page of lists has {n} values, expected at most {MAX_LEVELS}");
            return Err(ParquetError::General(problem));
        }
        match page.encoding() {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if !self.has_dictionary => {
                Err(damaged("a page without its dictionary"))
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                check_lengths(values, n).ok_or_else(|| damaged(LENGTHS))
            }
            // The lengths of what values share with those before are checked where they are used.
            Encoding::DELTA_BYTE_ARRAY => Deltas::read(values, n)
                .and_then(|shared| check_lengths(shared.rest, n))
                .ok_or_else(|| damaged(LENGTHS)),
            _ => Ok(()),
        }
    }
}

const LENGTHS: &str = "the lengths of the values of a page are not those of its bytes";

fn damaged(problem: &str) -> ParquetError {
    ParquetError::General(problem.into())
}

/// What follows the levels of `n` values in a page.
#[expect(deprecated, reason = "old files have levels in bits")]
fn after_levels(page: &[u8], highest: i16, encoding: Encoding, n: u32) -> Option<&[u8]> {
    match encoding {
        Encoding::RLE => {
            let (length, rest) = page.split_first_chunk()?;
            rest.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..)
        }
        Encoding::BIT_PACKED => {
            let bits = u64::from(i16::BITS - highest.leading_zeros());
            page.get(usize::try_from((u64::from(n) * bits).div_ceil(8)).ok()?..)
        }
        // The decoder refuses it.
        _ => Some(page),
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.as_ref().map_or(Ok(()), |page| self.check(page))?;
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
