//! Where a hit stands in the other columns.

use maud::{Markup, html};

use super::search::{LOOK, SearchView};
use crate::api::types::Hit;

/// Where a hit stands in another column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// At the same rank.
    Same,
    /// So many places higher here; its rank there.
    Up(usize, usize),
    /// So many places lower here; its rank there.
    Down(usize, usize),
    /// Not among the first so many there.
    Absent(usize),
}

/// Where the document at rank `here` stands in a column whose first documents are `there`.
pub fn moved(here: usize, id: &str, there: &[String]) -> Move {
    match there.iter().position(|other| other == id).map(|at| at + 1) {
        None => Move::Absent(there.len()),
        Some(rank) if rank == here => Move::Same,
        Some(rank) if rank > here => Move::Up(rank - here, rank),
        Some(rank) => Move::Down(here - rank, rank),
    }
}

/// The hit's rank in every other column.
pub fn moves(view: &SearchView, at: usize, hit: &Hit) -> Markup {
    let others: Vec<(&str, Move)> = view
        .columns
        .iter()
        .enumerate()
        .filter(|(i, other)| *i != at && other.answer.is_ok())
        .map(|(_, other)| (other.name.as_str(), moved(hit.rank, &hit.id, &other.first)))
        .collect();
    if others.is_empty() {
        return html! {};
    }
    // Beyond what was looked through in other columns, absence says nothing.
    let beyond = hit.rank > LOOK;
    let only = others.iter().all(|(_, m)| matches!(m, Move::Absent(_))) && !beyond;
    html! {
        ul.moves aria-label="Rank in the other columns" {
            @if only {
                @let most = others.iter().map(|(_, m)| if let Move::Absent(n) = m { *n } else { 0 }).max().unwrap_or(0);
                li.only title={ "not among the first " (most) " of " (others.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(" or ")) } { "only here" }
            } @else {
                @for (name, m) in &others { @match m {
                    Move::Same => { li.same { "same in " (name) } }
                    Move::Up(by, rank) => {
                        li.up title={ "rank " (rank) " in " (name) ", " (by) " higher here" } {
                            span aria-hidden="true" { "↑" } span.hush { "up " } (by) " (" (rank) " in " (name) ")"
                        }
                    }
                    Move::Down(by, rank) => {
                        li.down title={ "rank " (rank) " in " (name) ", " (by) " lower here" } {
                            span aria-hidden="true" { "↓" } span.hush { "down " } (by) " (" (rank) " in " (name) ")"
                        }
                    }
                    Move::Absent(_) if beyond => {}
                    // All that the other column has was looked through.
                    Move::Absent(n) if *n < LOOK => { li.absent { "not found by " (name) } }
                    Move::Absent(n) => { li.absent { "not in first " (n) " of " (name) } }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_seen_from_here() {
        let there: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(moved(1, "a", &there), Move::Same);
        assert_eq!(moved(1, "c", &there), Move::Up(2, 3));
        assert_eq!(moved(5, "b", &there), Move::Down(3, 2));
        assert_eq!(moved(1, "x", &there), Move::Absent(3));
    }
}
