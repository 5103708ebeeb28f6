//! The choice of an active model on pages about one model.

use std::sync::Arc;

use liken_engine::ServedModel;
use maud::{Markup, html};

use super::page_params::PageParams;
use crate::problem::Problem;

/// The active model that the address names.
pub fn named<'a>(
    active: &'a [Arc<ServedModel>],
    asked: &PageParams,
) -> Result<Option<&'a Arc<ServedModel>>, Problem> {
    let Some(name) = asked.one("name") else { return Ok(None) };
    let found = active.iter().find(|served| served.about.model.name == name);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = active.iter().map(|s| s.about.model.name.as_str()).collect();
        let name: String = name.chars().take(100).collect();
        let names = names.join(", ");
        Problem::missing(format!("no active model is called {name:?}; there are: {names}"))
    })
}

/// Links to the page of each of these models.
pub fn links(models: &[Arc<ServedModel>], chosen: &str, asked: &PageParams, path: &str) -> Markup {
    html! {
        @if models.len() > 1 {
            nav aria-label="Models" { ul.chips { @for served in models {
                @let name = &served.about.model.name;
                li { a.chip href=(asked.address(path, &[("name", name), ("page", ""), ("part", "")]))
                    aria-current=[(name == chosen).then_some("page")] { (name) } }
            } } }
        }
    }
}
