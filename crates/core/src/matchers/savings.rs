//! Advice on how to make a fit smaller.

use crate::features::Features;

/// Advice for most methods: fewer dimensions, if they have any, fewer words, and no click features, if
/// `features` are a choice of the user.
pub(super) fn usual_savings(dim: Option<usize>, features: Option<Features>) -> Vec<String> {
    let mut advice = Vec::new();
    if dim.is_some() {
        advice.push("take fewer dimensions (`dim`)".to_owned());
    }
    advice.push("leave out rare words (`min_df`)".to_owned());
    if let Some(features) = features {
        for (key, weight) in
            [("query_clicks", features.query_clicks), ("doc_clicks", features.doc_clicks)]
        {
            if weight > 0.0 {
                let side = if key == "query_clicks" { "queries" } else { "documents" };
                advice.push(format!("leave out click features of {side} (`features.{key} = 0`)"));
            }
        }
    }
    advice
}
