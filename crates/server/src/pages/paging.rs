//! Lists that are shown page by page.

use std::ops::Range;

use maud::{Markup, html};

use super::format::grouped;

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    /// The number of the page, from 1.
    pub page: usize,
    pages: usize,
    per_page: usize,
    len: usize,
}

impl Paging {
    /// Page number `wanted` of `len` items, or the page next to it.
    pub fn new(wanted: usize, len: usize, per_page: usize) -> Self {
        let pages = len.div_ceil(per_page).max(1);
        Paging { page: wanted.clamp(1, pages), pages, per_page, len }
    }

    /// The positions of the page's items.
    pub fn range(&self) -> Range<usize> {
        let from = (self.page - 1) * self.per_page;
        from..(from + self.per_page).min(self.len)
    }

    /// Links to other pages; `address` is that of a page by number.
    pub fn nav(&self, label: &str, address: impl Fn(&str) -> String) -> Markup {
        let Paging { page, pages, .. } = *self;
        let link = |to: usize| address(&to.to_string());
        html! {
            @if pages > 1 {
                nav.pager aria-label=(label) {
                    @if page > 1 {
                        a.button href=(link(1)) { "First" } " "
                        a.button rel="prev" href=(link(page - 1)) { "Previous" } " "
                    }
                    span { "Page " (grouped(page)) " of " (grouped(pages)) } " "
                    @if page < pages {
                        a.button rel="next" href=(link(page + 1)) { "Next" } " "
                        a.button href=(link(pages)) { "Last" }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_every_item_once_and_link_to_others() {
        let ranges = [0, 1, 2, 3, usize::MAX].map(|page| Paging::new(page, 25, 10).range());
        assert_eq!(ranges, [0..10, 0..10, 10..20, 20..25, 20..25]);
        assert_eq!(Paging::new(7, 0, 10).range(), 0..0);
        let nav =
            |page| Paging::new(page, 25, 10).nav("p", |to| format!("/x?p={to}")).into_string();
        assert!(nav(2).contains("rel=\"prev\" href=\"/x?p=1\"") && nav(2).contains("Page 2 of 3"));
        assert!(!nav(1).contains("First") && !nav(3).contains("Last"));
        assert_eq!(Paging::new(1, 10, 10).nav("p", str::to_owned).into_string(), "");
    }
}
