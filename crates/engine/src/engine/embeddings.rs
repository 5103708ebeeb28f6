//! Embeddings of texts and documents, and nearest neighbours.

use liken::data::Document;
use liken::matchers::{Bilinear, Model, Neighbours};
use liken::top_k::select_sorted;
use serde_json::{Map, Value};

use super::Engine;
use super::fold_in::view_of_given;
use super::snapshot::IndexState;
use super::view::ModelView;
use crate::limits::HITS;
use crate::titles::title;
use crate::types::{EmbedRequest, EmbedResponse, Neighbour, SimilarRequest, SimilarResponse};
use crate::{Error, checks};

impl Engine {
    /// The embeddings of texts and documents.
    pub fn embed(&self, request: &EmbedRequest) -> Result<EmbedResponse, Error> {
        checks::embed(request, &self.settings.limits)?;
        let state = self.state();
        let view = self.latent_view(&state, request.model.as_deref())?;
        let latent = latent_of(view.model())?;
        let mut queries = Vec::with_capacity(request.queries.len());
        for text in &request.queries {
            let query = view.model().counts.read_query(text);
            queries.push(latent.query_embedding(&view.model().counts, &query));
        }
        let given = documents(&request.documents)?;
        let with_given = view_of_given(&view.served, &given, state.end)?;
        let numbers = (state.end..).take(given.len());
        let documents =
            numbers.filter_map(|no| Some(with_given.embedding(no)?.into_owned())).collect();
        let mut ids = Vec::with_capacity(request.ids.len());
        for id in &request.ids {
            let no = self.number_of(&state, id)?;
            ids.push(view.embedding(no).unwrap_or_default().into_owned());
        }
        let model = view.served.about.model.clone();
        Ok(EmbedResponse { model, dim: latent.dim(), queries, documents, ids })
    }

    /// The nearest neighbours of a query, a document or a word.
    pub fn similar(&self, request: &SimilarRequest) -> Result<SimilarResponse, Error> {
        checks::similar(request, &self.settings.limits)?;
        let state = self.state();
        let view = self.latent_view(&state, request.model.as_deref())?;
        let k = request.k.unwrap_or(HITS);
        let neighbours = Neighbours::of(view.model())?;
        let named = |list: Vec<(String, f64)>| {
            list.into_iter().map(|(name, cosine)| Neighbour { name, title: None, cosine }).collect()
        };
        let (mut queries, mut near) = (Vec::new(), Vec::new());
        if let Some(text) = &request.query {
            // The message ends up in logs, which must not hold queries.
            let query = view.model().read_query(text).map_err(|_| {
                Error::invalid("query: expected a word that the model knows, found none")
            })?;
            queries = named(neighbours.queries(&query, k));
        } else if let Some(id) = &request.id {
            let no = self.number_of(&state, id)?;
            near = self.near_documents(&state, view, no, k)?;
        } else if let Some(word) = &request.word {
            let (in_queries, in_documents) = neighbours.words(word, k)?;
            (queries, near) = (named(in_queries), named(in_documents));
        }
        let model = view.served.about.model.clone();
        Ok(SimilarResponse { model, queries, documents: near })
    }

    /// The documents whose embeddings have the largest cosine with that of `no`.
    fn near_documents(
        &self,
        state: &IndexState,
        view: &ModelView,
        no: u32,
        k: usize,
    ) -> Result<Vec<Neighbour>, Error> {
        let Some(embedding) = view.embedding(no) else { return Ok(Vec::new()) };
        let mut best: Vec<(u32, f64)> = Vec::new();
        for other in (0..state.end).filter(|&other| other != no && !state.dead.contains(other)) {
            let Some(candidate) = view.embedding(other) else { continue };
            let cosine = liken::linalg::cosine(&embedding, &candidate);
            if cosine > 0.0 {
                best.push((other, cosine));
            }
        }
        let nearer = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        select_sorted(&mut best, k, nearer);
        let numbers: Vec<u32> = best.iter().map(|&(no, _)| no).collect();
        let titles =
            self.store.bodies(&numbers)?.into_iter().map(|fields| fields.and_then(|f| title(&f)));
        let near = |((no, cosine), title): ((u32, f64), Option<String>)| Neighbour {
            name: state.id(no).to_owned(),
            title,
            cosine,
        };
        Ok(best.into_iter().zip(titles).map(near).collect())
    }

    /// The model called `name`, or the first that has a latent space.
    fn latent_view<'a>(
        &self,
        state: &'a IndexState,
        name: Option<&str>,
    ) -> Result<&'a ModelView, Error> {
        if let Some(name) = name {
            return Ok(self.views(state, &[name.to_owned()])?[0]);
        }
        let has_one = |view: &&ModelView| latent_of(view.model()).is_ok();
        state.models.iter().find(has_one).ok_or_else(|| {
            Error::invalid(
                "no model of this index has a latent space; rmls, pls and others have one",
            )
        })
    }
}

/// The first latent space of a model.
fn latent_of(model: &Model) -> Result<&Bilinear, Error> {
    model.parts.iter().find_map(|part| part.matcher.bilinear()).ok_or_else(|| {
        Error::invalid(format!(
            "{} has no latent space; rmls, pls and others have one",
            model.about.name
        ))
    })
}

/// Documents of a request, which have fields and perhaps an id.
pub(super) fn documents(given: &[Map<String, Value>]) -> Result<Vec<Document>, Error> {
    let document = |(at, fields): (usize, &Map<String, Value>)| {
        let mut fields = fields.clone();
        let id = match fields.shift_remove("id") {
            None => at.to_string(),
            Some(Value::String(id)) => id,
            Some(other) => {
                return Err(Error::invalid(format!(
                    "documents[{at}].id: expected a text, found {other}"
                )));
            }
        };
        Ok(Document { id, fields })
    };
    given.iter().enumerate().map(document).collect()
}
