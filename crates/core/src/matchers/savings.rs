//! Advice on what makes a fit smaller.

use crate::features::Features;

/// What makes most fits smaller, for people: fewer dimensions, where there are any, fewer words,
/// and no click features where `features` are for the user to choose.
pub(super) fn usual_savings(dim: Option<usize>, features: Option<Features>) -> Vec<String> {
    let mut ways = Vec::new();
    if dim.is_some() {
        ways.push("take fewer dimensions (`dim`)".to_owned());
    }
    ways.push("leave out rare words (`min_df`)".to_owned());
    if let Some(features) = features {
        for (key, weight) in
            [("query_clicks", features.query_clicks), ("doc_clicks", features.doc_clicks)]
        {
            if weight > 0.0 {
                ways.push(format!("leave out click features (`features.{key} = 0`)"));
            }
        }
    }
    ways
}
