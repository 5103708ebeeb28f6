//! Kinds of features, and how a user names some of them.

use super::About;
use crate::{Error, Result};

/// A kind of features.
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
    /// How the words of the query stand to each other in every text.
    Proximity,
    /// Lengths of the texts and of the query.
    Length,
    /// How deep a document's address leads.
    Url,
    /// How often a document was clicked, and what other documents say of it.
    Clicks,
    /// Numbers that the documents have as fields.
    Fields,
    /// Scores of matchers.
    Models,
}

/// Every kind, by name.
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
    /// Every kind.
    pub fn all() -> Vec<Group> {
        GROUPS.iter().map(|&(_, group)| group).collect()
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        GROUPS.iter().find(|&&(_, group)| group == self).map_or("", |&(name, _)| name)
    }

    /// The kinds that `names` say: `all`, or names; with a minus before it, without that one.
    /// Where the first has a minus, all others are meant.
    pub fn parse(names: &[String]) -> Result<Vec<Group>> {
        let mut chosen = match names.first() {
            Some(first) if !first.starts_with('-') => Vec::new(),
            _ => Group::all(),
        };
        for name in names {
            let (minus, bare) = signed(name);
            let found: Vec<Group> =
                GROUPS.iter().filter(|&&(n, _)| n == bare || bare == "all").map(|g| g.1).collect();
            if found.is_empty() {
                return Err(Error::Unknown {
                    kind: "group of features",
                    name: bare.to_owned(),
                    advice: format!("there are {}, and all", group_names().join(", ")),
                });
            }
            take(&mut chosen, found, minus);
        }
        Ok(Group::all().into_iter().filter(|group| chosen.contains(group)).collect())
    }
}

fn group_names() -> Vec<&'static str> {
    GROUPS.iter().map(|&(name, _)| name).collect()
}

/// Whether a name has a minus before it, and the name without.
fn signed(name: &str) -> (bool, &str) {
    let name = name.trim();
    name.strip_prefix('-').map_or((false, name), |bare| (true, bare.trim()))
}

fn take<T: PartialEq>(chosen: &mut Vec<T>, found: Vec<T>, minus: bool) {
    match minus {
        true => chosen.retain(|one| !found.contains(one)),
        false => found.into_iter().for_each(|one| {
            if !chosen.contains(&one) {
                chosen.push(one);
            }
        }),
    }
}

/// The places in `features` of those that `names` say, in order. A name is `all`, a group, a
/// model or a feature; a minus before it takes away. Where the first has a minus, all others are
/// meant.
pub fn choose(features: &[About], names: &[String]) -> Result<Vec<usize>> {
    let all = || (0..features.len()).collect::<Vec<usize>>();
    let mut chosen = match names.first() {
        Some(first) if !first.starts_with('-') => Vec::new(),
        _ => all(),
    };
    for name in names {
        let (minus, bare) = signed(name);
        let fits = |about: &About| {
            bare == "all"
                || about.name == bare
                || about.group.name() == bare
                || about.model.as_deref() == Some(bare)
        };
        let found: Vec<usize> = all().into_iter().filter(|&f| fits(&features[f])).collect();
        // A group may have nothing to say of these documents: they have no addresses, no numbers.
        if found.is_empty() && !group_names().contains(&bare) {
            let models: Vec<&str> = features.iter().filter_map(|f| f.model.as_deref()).collect();
            return Err(Error::Unknown {
                kind: "feature",
                name: bare.to_owned(),
                advice: format!(
                    "there are all, the groups {}, the models that take part ({}), and single features such as {}",
                    group_names().join(", "),
                    if models.is_empty() { "none".to_owned() } else { models.join(", ") },
                    features.first().map_or("bm25(title)", |about| &about.name)
                ),
            });
        }
        take(&mut chosen, found, minus);
    }
    chosen.sort_unstable();
    if chosen.is_empty() {
        return Err(Error::parameter("features", names.join(","), "at least one feature"));
    }
    Ok(chosen)
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
        let about = |name: &str, group, model: Option<&str>| About {
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
