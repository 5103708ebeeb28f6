//! The form of the search page: the query box and the options.

use maud::{Markup, html};

use crate::pages::search_params::{FUSIONS, MOST_COLUMNS};
use crate::pages::search_view::SearchView;

/// The query with all options of a search.
pub fn form(view: &SearchView) -> Markup {
    let ask = &view.ask;
    let choices = choices(view);
    html! {
        form.search role="search" action="/" method="get" {
            div.box {
                label.hush for="q" { "Query" }
                input #q type="search" name="q" value=(ask.query) placeholder="Search the documents" autocomplete="off"
                    autofocus[ask.query.is_empty()] maxlength="4096" enterkeyhint="search";
                button.main type="submit" { "Search" }
            }
            details.options open[!ask.filter.is_empty() || ask.diversify.is_some() || ask.fusion.is_some() || !ask.ranker.is_empty()] {
                summary { "Models and options" }
                div.fields {
                    @for i in 0..MOST_COLUMNS {
                        @let chosen = ask.columns.get(i).map_or("", String::as_str);
                        div.field {
                            label for={ "m" (i) } { "Column " (i + 1) }
                            select id={ "m" (i) } name="m" {
                                option value="" selected[chosen.is_empty()] { "none" }
                                @for choice in &choices {
                                    option value=(choice) selected[choice == chosen] { (choice) }
                                }
                            }
                        }
                    }
                    div.field {
                        label for="fusion" { "Fusion" }
                        select #fusion name="fusion" {
                            option value="" { "default of the service" }
                            @for (name, about, method) in FUSIONS {
                                option value=(name) selected[ask.fusion == Some(method)] { (about) }
                            }
                        }
                    }
                    div.field {
                        label for="diversify" { "Variety" }
                        select #diversify name="diversify" {
                            @let presets = [(None, "off"), (Some(0.8), "a little"), (Some(0.5), "more"), (Some(0.2), "most")];
                            @for (lambda, about) in presets {
                                option value=(lambda.map_or(String::new(), |l: f64| l.to_string())) selected[ask.diversify == lambda] { (about) }
                            }
                            @if let Some(own) = ask.diversify.filter(|own| !presets.iter().any(|(l, _)| *l == Some(*own))) {
                                option value=(own) selected { (own) }
                            }
                        }
                    }
                    div.field {
                        label for="k" { "Hits" }
                        input #k type="number" name="k" min="1" max="100" value=(ask.k);
                    }
                    div.field {
                        label for="ranker" { "Ranker" }
                        select #ranker name="ranker" {
                            option value="" selected[ask.ranker.is_empty()] { "default of the service" }
                            @for ranker in rankers(view) {
                                option value=(ranker) selected[ranker == ask.ranker] { (ranker) }
                            }
                        }
                    }
                    div.field.grow {
                        label for="filter" { "Filter (JSON)" }
                        input #filter type="text" name="filter" value=(ask.filter) placeholder="{\"year\": {\"gte\": 2000}}" spellcheck="false";
                    }
                    button type="submit" { "Apply" }
                }
            }
        }
    }
}

/// The choices of a ranker: none, those of the index, and the chosen one.
fn rankers(view: &SearchView) -> Vec<&str> {
    let mut rankers = vec!["none"];
    rankers.extend(view.rankers.iter().map(String::as_str));
    if !view.ask.ranker.is_empty() && !rankers.contains(&view.ask.ranker.as_str()) {
        rankers.push(&view.ask.ranker);
    }
    rankers
}

/// The choices of a column: each model, each pair of models, and those chosen.
fn choices(view: &SearchView) -> Vec<String> {
    /// With pairs of more models than this, single models would be hard to find.
    const PAIRED: usize = 5;
    let names: Vec<&str> = view.models.iter().map(|model| model.name.as_str()).collect();
    let mut choices: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    for (i, a) in names.iter().enumerate().take(PAIRED) {
        choices.extend(names[i + 1..].iter().take(PAIRED).map(|b| format!("{a}+{b}")));
    }
    for column in &view.ask.columns {
        if !choices.contains(column) {
            choices.push(column.clone());
        }
    }
    choices
}
