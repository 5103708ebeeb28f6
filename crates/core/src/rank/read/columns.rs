//! Tables with named columns: the query, optionally the grade, the document, the weight, the position
//! and the group; every other column is a feature.

use super::TableFile;
use crate::rank::{FeatureTable, TableBuilder};
use crate::rows::{GRADE, HeaderTable, TableFormat, VALUE, feature_value, grade, is_rounded};
use crate::{Error, Result, Run};

pub(super) fn read(file: &TableFile, format: TableFormat, run: &Run<'_>) -> Result<FeatureTable> {
    let mut grid = HeaderTable::open(&file.path, format, *run)?;
    let layout = TableColumns::find(file, &grid)?;
    let names = layout.features.iter().map(|&at| grid.header()[at].clone()).collect();
    let mut builder = TableBuilder::new(names);
    builder.absent(f32::NAN);
    let mut values = vec![0.0; layout.features.len()];
    let mut rounded = None;
    let (mut weights, mut positions, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    while grid.advance()? {
        let column = |at: usize| format!("{:?} in column {}", grid.field(at), grid.header()[at]);
        for (place, &at) in values.iter_mut().zip(&layout.features) {
            let read = feature_value(grid.field(at)).filter(|value| !value.is_infinite());
            *place = read.ok_or_else(|| grid.wrong(VALUE, &column(at)))?;
            if is_rounded(grid.field(at), *place) {
                rounded = layout.features.iter().position(|&feature| feature == at);
            }
        }
        let graded = match layout.grade {
            None => 0.0,
            Some(at) => match grade(grid.field(at)) {
                Some(graded) => graded,
                None if file.without_grades => 0.0,
                None => return Err(grid.wrong(GRADE, &column(at))),
            },
        };
        if let Some(at) = layout.weight {
            let weight = grid.field(at).trim().parse::<f32>().ok();
            let weight = weight.filter(|weight| weight.is_finite() && *weight >= 0.0);
            weights.push(
                weight.ok_or_else(|| grid.wrong("a weight: a number from 0 on", &column(at)))?,
            );
        }
        if let Some(at) = layout.position {
            let position = grid.field(at).trim().parse::<u32>();
            let expected = "a rank: a whole number from 1 on, or 0 where it is not known";
            positions.push(position.map_err(|_| grid.wrong(expected, &column(at)))?);
        }
        if let Some(at) = layout.group {
            groups.push(grid.field(at).to_owned());
        }
        let query = grid.field(layout.query);
        if query.is_empty() {
            return Err(grid.wrong("a query", &column(layout.query)));
        }
        // A row without an id has its place as id.
        let place = (builder.n_rows() + 1).to_string();
        let doc = layout.doc.map_or(place.as_str(), |at| grid.field(at));
        builder.push(query, doc, graded, &values)?;
    }
    if layout.weight.is_some() {
        builder.weights(weights)?;
    }
    if layout.position.is_some() {
        builder.positions(positions)?;
    }
    if let Some(feature) = rounded {
        builder.rounded(feature);
    }
    if layout.group.is_some() {
        builder.groups(groups)?;
    }
    Ok(builder.finish())
}

/// The usual names of the columns of queries, documents and grades.
const QUERY: &[&str] = &["query", "qid", "query_id"];
const DOC: &[&str] = &["doc", "docid", "doc_id", "docno"];
const GRADES: &[&str] = &["grade", "label", "relevance", "rel"];

/// The places of the columns.
struct TableColumns {
    query: usize,
    doc: Option<usize>,
    grade: Option<usize>,
    weight: Option<usize>,
    position: Option<usize>,
    group: Option<usize>,
    features: Vec<usize>,
}

impl TableColumns {
    fn find(file: &TableFile, grid: &HeaderTable<'_>) -> Result<Self> {
        let (given, header) = (&file.columns, grid.header());
        let unusable = |problem: String| Error::Unusable {
            path: grid.label().to_owned(),
            problem,
            advice: format!(
                "the columns are {}; name the column, as in `column = query=qid`",
                header.join(", ")
            ),
        };
        if let Some(twice) =
            header.iter().enumerate().find(|(at, name)| header[..*at].contains(name))
        {
            return Err(unusable(format!("two columns are called {:?}", twice.1)));
        }
        let place = |name: &str| header.iter().position(|column| column == name);
        let find = |said: &Option<String>, usual: &[&str]| match said {
            Some(name) => place(name)
                .map(Some)
                .ok_or_else(|| unusable(format!("no column is called {name:?}"))),
            None => {
                let left = usual.iter().filter(|name| !given.ignore.iter().any(|i| i == *name));
                Ok(left.into_iter().find_map(|name| place(name)))
            }
        };
        let query = find(&given.query, QUERY)?
            .ok_or_else(|| unusable("there is no column query (or qid)".into()))?;
        let doc = find(&given.doc, DOC)?;
        let grade = find(&given.grade, GRADES)?;
        let weight = find(&given.weight, &["weight"])?;
        let position = find(&given.position, &["position"])?;
        let group = find(&given.group, &["group"])?;
        if grade.is_none() && !file.without_grades {
            return Err(unusable("there is no column grade (or label)".into()));
        }
        let mut taken = vec![query];
        taken.extend([doc, grade, weight, position, group].into_iter().flatten());
        for name in &given.ignore {
            taken.push(
                place(name).ok_or_else(|| unusable(format!("no column is called {name:?}")))?,
            );
        }
        let features: Vec<usize> = (0..header.len()).filter(|at| !taken.contains(at)).collect();
        // A second grade would become the best of all features.
        let mut telling = QUERY.iter().chain(GRADES).chain(DOC);
        let is_feature = |name: &&&str| features.iter().any(|&at| header[at] == **name);
        if let Some(name) = telling.find(is_feature) {
            return Err(unusable(format!(
                "the column {name} would be a feature, but its name is that of a query, a document or a grade: leave it out with `ignore = {name}`"
            )));
        }
        Ok(TableColumns { query, doc, grade, weight, position, group, features })
    }
}
