//! Groups of features, and how a user chooses some of them.

use crate::suggest::did_you_mean;
use crate::{Error, Result};

/// A group of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// BM25 of every text.
    Bm25,
    /// tf-idf cosine of every text.
    Vsm,
    /// Query likelihood of every text, with Dirichlet smoothing.
    Lm,
    /// Query likelihood of every text, with Jelinek–Mercer smoothing.
    LmJm,
    /// Proximity of the query words in every text.
    Proximity,
    /// Lengths of the texts and of the query.
    Length,
    /// The depth of a document's URL.
    Url,
    /// Clicks of a document, and its PageRank.
    Clicks,
    /// Numeric fields of the documents.
    Fields,
    /// Scores of matchers.
    Models,
}

const GROUPS: [(&str, Group); 10] = [
    ("bm25", Group::Bm25),
    ("vsm", Group::Vsm),
    ("lm", Group::Lm),
    ("lm-jm", Group::LmJm),
    ("proximity", Group::Proximity),
    ("length", Group::Length),
    ("url", Group::Url),
    ("clicks", Group::Clicks),
    ("fields", Group::Fields),
    ("models", Group::Models),
];

impl Group {
    /// Every group.
    pub fn all() -> Vec<Group> {
        GROUPS.iter().map(|&(_, group)| group).collect()
    }

    /// The name of the group.
    pub fn name(self) -> &'static str {
        GROUPS.iter().find(|&&(_, group)| group == self).map_or("", |&(name, _)| name)
    }

    /// The groups that `names` choose: `all`, or names of groups; a minus before a name removes the
    /// group. If the first name has a minus, all other groups are meant.
    pub fn parse(names: &[String]) -> Result<Vec<Group>> {
        chosen(
            &Group::all(),
            names,
            |name, group| name == "all" || name == group.name(),
            |name| {
                Err(Error::Unknown {
                    kind: "group of features",
                    name: name.to_owned(),
                    advice: did_you_mean(
                        name,
                        group_names(),
                        &format!("there are {}, and all", group_names().join(", ")),
                    ),
                })
            },
        )
    }
}

fn group_names() -> Vec<&'static str> {
    GROUPS.iter().map(|&(name, _)| name).collect()
}

/// A feature: its name and its group.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureInfo {
    /// The name: the kind and its argument, such as `bm25(title)` or `model(rmls)`.
    pub name: String,
    /// The group of features that it belongs to.
    pub group: Group,
    /// The name of the matcher, if the feature is its score.
    pub model: Option<String>,
}

/// The places in `features` of those that `names` choose, in order. A name is `all`, a group, a
/// model or a feature; a minus before it removes these. If the first name has a minus, all other
/// features are meant.
pub fn choose(features: &[FeatureInfo], names: &[String]) -> Result<Vec<usize>> {
    let all: Vec<usize> = (0..features.len()).collect();
    let fits = |name: &str, place: usize| {
        let feature = &features[place];
        [feature.name.as_str(), feature.group.name(), "all"].contains(&name)
            || feature.model.as_deref() == Some(name)
    };
    let chosen = chosen(&all, names, fits, |name| {
        // A group may have no features of these documents: they have no URLs, no numeric fields.
        if group_names().contains(&name) {
            return Ok(());
        }
        let models: Vec<&str> = features.iter().filter_map(|f| f.model.as_deref()).collect();
        let advice = format!(
            "there are all, the groups {}, the models that take part ({}), and single features such as {}",
            group_names().join(", "),
            if models.is_empty() { "none".to_owned() } else { models.join(", ") },
            features.first().map_or("bm25(title)", |feature| &feature.name)
        );
        let single = features.iter().map(|feature| feature.name.as_str());
        let advice =
            did_you_mean(name, group_names().into_iter().chain(models).chain(single), &advice);
        Err(Error::Unknown { kind: "feature", name: name.to_owned(), advice })
    })?;
    if chosen.is_empty() {
        return Err(Error::parameter("features", names.join(","), "at least one feature"));
    }
    Ok(chosen)
}

/// The items of `all` that `names` choose, in their order. `fits` says whether a name means an item,
/// `unknown` whether it may mean none.
fn chosen<T: Copy + PartialEq>(
    all: &[T],
    names: &[String],
    fits: impl Fn(&str, T) -> bool,
    unknown: impl Fn(&str) -> Result<()>,
) -> Result<Vec<T>> {
    let begins_empty = names.first().is_some_and(|first| !first.starts_with('-'));
    let mut chosen = if begins_empty { Vec::new() } else { all.to_vec() };
    for name in names {
        let name = name.trim();
        let bare = name.strip_prefix('-').map_or(name, str::trim);
        let found: Vec<T> = all.iter().copied().filter(|&item| fits(bare, item)).collect();
        if found.is_empty() {
            unknown(bare)?;
        }
        match name.starts_with('-') {
            true => chosen.retain(|item| !found.contains(item)),
            false => chosen.extend(found),
        }
    }
    Ok(all.iter().copied().filter(|item| chosen.contains(item)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn groups_are_named_added_and_taken_away() {
        let named = |text: &str| Group::parse(&words(text)).unwrap();
        assert_eq!(named("lm-jm,bm25"), [Group::Bm25, Group::LmJm]);
        assert_eq!(named("all"), Group::all());
        assert_eq!(named("").len(), 10);
        assert_eq!(named("-models,-lm-jm").len(), 8);
        let error = Group::parse(&words("bm26")).unwrap_err().to_string();
        assert!(error.contains("bm26") && error.contains("proximity"), "{error}");
    }

    #[test]
    fn features_are_chosen_by_group_model_and_name() {
        let about = |name: &str, group, model: Option<&str>| FeatureInfo {
            name: name.into(),
            group,
            model: model.map(str::to_owned),
        };
        let features = [
            about("bm25(title)", Group::Bm25, None),
            about("bm25(all)", Group::Bm25, Some("bm25")),
            about("clicks", Group::Clicks, None),
            about("model(pls)", Group::Models, Some("pls")),
            about("model(rmls)", Group::Models, Some("rmls")),
        ];
        let chosen = |text: &str| choose(&features, &words(text)).unwrap();
        assert_eq!(chosen("all"), [0, 1, 2, 3, 4]);
        assert_eq!(chosen(""), [0, 1, 2, 3, 4]);
        assert_eq!(chosen("-pls"), [0, 1, 2, 4]);
        assert_eq!(chosen("rmls,bm25"), [0, 1, 4]);
        assert_eq!(chosen("models,-rmls,clicks"), [2, 3]);
        assert_eq!(chosen("bm25(all),url"), [1]);
        let error = choose(&features, &words("plsa")).unwrap_err().to_string();
        assert!(error.contains("plsa") && error.contains("pls, rmls"), "{error}");
        assert!(choose(&features, &words("pls,-pls")).is_err());
    }
}
