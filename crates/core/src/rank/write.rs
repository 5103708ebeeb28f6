//! Writing feature tables: LETOR, CSV, TSV or Parquet.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{FeatureTable, RankFormat};
use crate::file::NewFile;
use crate::{Error, Result};

/// Writes `table` to the file at `path`, which appears whole or not at all, in the order in which
/// its rows were added. Names, weights and positions, for which LETOR has no place, go to the side
/// files `FILE.names`, `FILE.weight` and `FILE.position`, from which they are read again.
pub fn write_table(table: &FeatureTable, path: &Path, format: RankFormat) -> Result<()> {
    check_name(path)?;
    if format == RankFormat::Letor {
        check_letor(table)?;
        write_side_files(table, path)?;
    }
    let file = NewFile::create(path)?;
    let writer = file.writer()?;
    match format {
        RankFormat::Parquet => parquet(table, writer, path)?,
        _ => {
            let mut out = BufWriter::with_capacity(1 << 20, writer);
            let written = match format {
                RankFormat::Letor => letor(table, &mut out),
                RankFormat::Tsv => columns(table, &mut out, "\t"),
                _ => columns(table, &mut out, ","),
            };
            written.and_then(|()| out.flush()).map_err(Error::io("write", path))?;
        }
    }
    file.commit()
}

/// Refuses the extension of a compressed file: other programs would try to decompress it.
fn check_name(path: &Path) -> Result<()> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz" | "zst") => Err(Error::Unusable {
            path: path.to_owned(),
            problem: "tables are written uncompressed".into(),
            advice: "omit the extension and compress the file afterwards, or write Parquet".into(),
        }),
        _ => Ok(()),
    }
}

/// Writes what LETOR has no place for.
fn write_side_files(table: &FeatureTable, path: &Path) -> Result<()> {
    let write = |ending: &str, lines: Vec<String>| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{ending}"));
        let path = Path::new(&name);
        let file = NewFile::create(path)?;
        let text = lines.join("\n") + "\n";
        file.writer()?.write_all(text.as_bytes()).map_err(Error::io("write", path))?;
        file.commit()
    };
    write("names", table.names().to_vec())?;
    if let Some(weights) = table.weights() {
        write("weight", rows(table).map(|(_, row)| weights[row].to_string()).collect())?;
    }
    if let Some(positions) = table.positions() {
        // With an unknown position, 0, they would be read as LightGBM's positions, from 0 on.
        if !positions.contains(&0) {
            write("position", rows(table).map(|(_, row)| positions[row].to_string()).collect())?;
        }
    }
    Ok(())
}

/// The rows in the order in which they were added, each with its query.
fn rows(table: &FeatureTable) -> impl Iterator<Item = (usize, usize)> {
    let mut query_of = vec![0usize; table.n_rows()];
    for (query, rows) in table.by_query().enumerate() {
        query_of[rows].fill(query);
    }
    let order = table.in_input_order(&(0..table.n_rows()).collect::<Vec<_>>());
    order.into_iter().map(move |row| (query_of[row], row))
}

/// Refuses ids with white space, for which LETOR has no place.
fn check_letor(table: &FeatureTable) -> Result<()> {
    let unfit =
        |id: &&String| id.is_empty() || id.contains(|c: char| c.is_whitespace() || c == '#');
    match table.queries().iter().chain(table.docs()).find(unfit) {
        None => Ok(()),
        Some(id) => Err(Error::Empty {
            what: format!("the id {id:?} has white space or #, for which LETOR has no place"),
            advice: "write CSV, TSV or Parquet: name the file table.csv".into(),
        }),
    }
}

fn letor(table: &FeatureTable, out: &mut impl Write) -> io::Result<()> {
    for (query, row) in rows(table) {
        write!(out, "{} qid:{}", table.grades()[row], table.queries()[query])?;
        for (feature, value) in (1..).zip(table.row(row)) {
            match value.is_nan() {
                true => write!(out, " {feature}:nan")?,
                false => write!(out, " {feature}:{value}")?,
            }
        }
        writeln!(out, " # docid = {}", table.docs()[row])?;
    }
    Ok(())
}

/// A text as a cell of CSV, quoted if necessary.
pub fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn columns(table: &FeatureTable, out: &mut impl Write, between: &str) -> io::Result<()> {
    let text = |text: &str| match between {
        // TSV knows no quoting.
        "\t" => text.replace(['\t', '\n', '\r'], " "),
        _ => csv_cell(text),
    };
    let mut heading = vec!["query".to_owned(), "doc".into(), "grade".into()];
    heading.extend(table.weights().map(|_| "weight".to_owned()));
    heading.extend(table.positions().map(|_| "position".to_owned()));
    heading.extend(table.has_groups().then(|| "group".to_owned()));
    heading.extend(table.names().iter().map(|name| text(name)));
    writeln!(out, "{}", heading.join(between))?;
    for (query, row) in rows(table) {
        write!(
            out,
            "{}{between}{}{between}",
            text(&table.queries()[query]),
            text(&table.docs()[row])
        )?;
        write!(out, "{}", table.grades()[row])?;
        if let Some(weights) = table.weights() {
            write!(out, "{between}{}", weights[row])?;
        }
        if let Some(positions) = table.positions() {
            write!(out, "{between}{}", positions[row])?;
        }
        if table.has_groups() {
            write!(out, "{between}{}", text(table.group(query)))?;
        }
        for value in table.row(row) {
            match value.is_nan() {
                true => write!(out, "{between}")?,
                false => write!(out, "{between}{value}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn parquet(table: &FeatureTable, file: File, path: &Path) -> Result<()> {
    use crate::file::{ParquetKind, ParquetTable};
    let number = |name: &str| (name.to_owned(), ParquetKind::Fraction);
    let mut heading =
        vec![("query".to_owned(), ParquetKind::Text), ("doc".to_owned(), ParquetKind::Text)];
    heading.push(number("grade"));
    heading.extend(table.weights().map(|_| number("weight")));
    heading.extend(table.positions().map(|_| ("position".to_owned(), ParquetKind::Whole)));
    heading.extend(table.has_groups().then(|| ("group".to_owned(), ParquetKind::Text)));
    heading.extend(table.names().iter().map(|name| number(name)));
    let mut written = ParquetTable::of(file, path, &heading)?;
    for (query, row) in rows(table) {
        let start = [
            Some(table.queries()[query].as_str().into()),
            Some(table.docs()[row].as_str().into()),
            Some(table.grades()[row].into()),
        ];
        let weight = table.weights().map(|weights| Some(weights[row].into()));
        let position = table.positions().map(|positions| Some(positions[row].into()));
        let group = table.has_groups().then(|| Some(table.group(query).into()));
        let known = |&value: &f32| (!value.is_nan()).then(|| value.into());
        let values = table.row(row).iter().map(known);
        written.row(start.into_iter().chain(weight).chain(position).chain(group).chain(values))?;
    }
    written.finish()
}

#[cfg(test)]
mod tests {
    use super::super::{TableBuilder, TableFile};
    use super::*;
    use crate::Run;

    #[test]
    fn what_is_written_is_read_again() {
        let mut builder = TableBuilder::new(vec!["a,\"b\"".into(), "c".into()]);
        for (query, doc, grade, values) in [
            ("q 1", "d,1", 2.0, [0.1f32, f32::NAN]),
            ("q2", "d2", 0.0, [-3.5e-9, 7.0]),
            ("q 1", "d\"3", 1.0, [f32::NAN, 16_777_216.0]),
        ] {
            builder.push(query, doc, grade, &values).unwrap();
        }
        builder.weights(vec![1.0, 0.5, 3.0]).unwrap();
        builder.positions(vec![1, 2, 0]).unwrap();
        builder.groups(["g1", "g2", "g1"].map(str::to_owned).to_vec()).unwrap();
        let table = builder.finish();
        let folder = tempfile::tempdir().unwrap();
        for name in ["t.csv", "t.tsv", "t.parquet"] {
            let path = folder.path().join(name);
            write_table(&table, &path, RankFormat::of(&path)).unwrap();
            let read = TableFile::new(&path).read(&Run::silent()).unwrap();
            assert_eq!(read.names(), table.names(), "{name}");
            assert_eq!(read.docs(), table.docs());
            assert_eq!(read.weights(), table.weights());
            assert_eq!(read.positions(), table.positions());
            assert_eq!((read.group(0), read.group(1)), ("g1", "g2"));
            let bits = |table: &FeatureTable| {
                let bits = |&value: &f32| if value.is_nan() { None } else { Some(value.to_bits()) };
                table.values().iter().map(bits).collect::<Vec<_>>()
            };
            assert_eq!(bits(&read), bits(&table));
        }
        let path = folder.path().join("t.letor");
        let error = write_table(&table, &path, RankFormat::Letor).unwrap_err();
        assert!(error.to_string().contains("q 1") && !path.exists());
        let second = table.of_queries(&[1]);
        write_table(&second, &path, RankFormat::Letor).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "0 qid:q2 1:-0.0000000035 2:7 # docid = d2\n");
        let read = TableFile::new(&path).read(&Run::silent()).unwrap();
        assert_eq!(read.names(), table.names());
        assert_eq!((read.weights(), read.positions()), (Some(&[0.5f32][..]), Some(&[2u32][..])));
        let packed = write_table(&second, &folder.path().join("t.csv.gz"), RankFormat::Csv);
        assert!(packed.unwrap_err().to_string().contains("uncompressed"));
    }
}
