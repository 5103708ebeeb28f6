//! The ranks of a hit in other columns.

use maud::{Markup, html};

use super::search_view::{COMPARED, SearchView};
use crate::api::types::Hit;

/// The rank of a hit compared with that in another column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankChange {
    /// The same rank.
    Same,
    /// The number of ranks by which it is higher here, and its rank there.
    Up(usize, usize),
    /// The number of ranks by which it is lower here, and its rank there.
    Down(usize, usize),
    /// It is not among this many first documents there.
    Absent(usize),
}

/// The change of the document at rank `here` against a column whose first documents are `there`.
pub fn rank_change(here: usize, id: &str, there: &[String]) -> RankChange {
    match there.iter().position(|other| other == id).map(|at| at + 1) {
        None => RankChange::Absent(there.len()),
        Some(rank) if rank == here => RankChange::Same,
        Some(rank) if rank > here => RankChange::Up(rank - here, rank),
        Some(rank) => RankChange::Down(here - rank, rank),
    }
}

/// The hit's rank in every other column.
pub fn rank_changes(view: &SearchView, at: usize, hit: &Hit) -> Markup {
    let others: Vec<(&str, RankChange)> = view
        .columns
        .iter()
        .enumerate()
        .filter(|(i, other)| *i != at && other.answer.is_ok())
        .map(|(_, other)| (other.name.as_str(), rank_change(hit.rank, &hit.id, &other.first)))
        .collect();
    if others.is_empty() {
        return html! {};
    }
    // Beyond the compared depth of other columns, absence means nothing.
    let beyond = hit.rank > COMPARED;
    let only = others.iter().all(|(_, m)| matches!(m, RankChange::Absent(_))) && !beyond;
    html! {
        ul.moves aria-label="Rank in the other columns" {
            @if only {
                @let most = others.iter().map(|(_, m)| if let RankChange::Absent(n) = m { *n } else { 0 }).max().unwrap_or(0);
                li.only title={ "not among the first " (most) " of " (others.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(" or ")) } { "only here" }
            } @else {
                @for (name, m) in &others { @match m {
                    RankChange::Same => { li.same { "same in " (name) } }
                    RankChange::Up(by, rank) | RankChange::Down(by, rank) => {
                        @let up = matches!(m, RankChange::Up(..));
                        @let (class, arrow, word) = if up { ("up", "↑", "higher") } else { ("down", "↓", "lower") };
                        li class=(class) title={ "rank " (rank) " in " (name) ", " (by) " " (word) " here" } {
                            span aria-hidden="true" { (arrow) } span.hush { (class) " " } (by) " (" (rank) " in " (name) ")"
                        }
                    }
                    RankChange::Absent(_) if beyond => {}
                    // The other column has no more documents.
                    RankChange::Absent(n) if *n < COMPARED => { li.absent { "not found by " (name) } }
                    RankChange::Absent(n) => { li.absent { "not in first " (n) " of " (name) } }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_compared_with_those_of_other_columns() {
        let there: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(rank_change(1, "a", &there), RankChange::Same);
        assert_eq!(rank_change(1, "c", &there), RankChange::Up(2, 3));
        assert_eq!(rank_change(5, "b", &there), RankChange::Down(3, 2));
        assert_eq!(rank_change(1, "x", &there), RankChange::Absent(3));
    }
}
