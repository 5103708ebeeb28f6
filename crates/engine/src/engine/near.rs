//! Images of texts, and what lies near.

use liken::data::Document;
use liken::matchers::{Bilinear, Model, Neighbour, Neighbours, Newcomers};
use liken::top_k::select_sorted;
use serde_json::{Map, Value};

use super::Engine;
use super::state::State;
use super::view::View;
use crate::limits::HITS;
use crate::titles::title;
use crate::types::{EmbedRequest, EmbedResponse, Near, SimilarRequest, SimilarResponse};
use crate::{Error, checks};

impl Engine {
    /// Images of texts and documents.
    pub fn embed(&self, request: &EmbedRequest) -> Result<EmbedResponse, Error> {
        checks::embed(request, &self.settings.limits)?;
        let state = self.state();
        let view = self.latent_view(&state, request.model.as_deref())?;
        let (part, latent) = latent_part(view.model())?;
        let mut queries = Vec::with_capacity(request.queries.len());
        for text in &request.queries {
            let query = view.model().counts.read_query(text);
            queries.push(latent.query_image(&view.model().counts, &query));
        }
        let given = documents(&request.documents)?;
        let documents = match newcomers(view, &given)? {
            Ok(new) => {
                let latent = new.part(part).bilinear();
                let image = |doc| latent.map(|latent| latent.doc_image(doc).into_owned());
                (0..given.len() as u32).filter_map(image).collect()
            }
            Err(model) => {
                let first = view.served.model.counts.n_docs() as u32;
                let latent = model.parts[part].matcher.bilinear();
                let image = |doc| latent.map(|latent| latent.doc_image(first + doc).into_owned());
                (0..given.len() as u32).filter_map(image).collect()
            }
        };
        let mut ids = Vec::with_capacity(request.ids.len());
        for id in &request.ids {
            let no = self.standing(&state, id)?;
            ids.push(view.image(no).unwrap_or_default().into_owned());
        }
        let model = view.served.about.model.clone();
        Ok(EmbedResponse { model, dim: latent.dim(), queries, documents, ids })
    }

    /// What lies near.
    pub fn similar(&self, request: &SimilarRequest) -> Result<SimilarResponse, Error> {
        checks::similar(request, &self.settings.limits)?;
        let state = self.state();
        let view = self.latent_view(&state, request.model.as_deref())?;
        let k = request.k.unwrap_or(HITS);
        let neighbours = Neighbours::of(view.model())?;
        let named = |list: Vec<Neighbour>| {
            list.into_iter().map(|(name, cosine)| Near { name, title: None, cosine }).collect()
        };
        let (mut queries, mut near) = (Vec::new(), Vec::new());
        match (&request.query, &request.id, &request.word) {
            (Some(text), None, None) => {
                // What people ask is nobody's business in a log.
                let query = view.model().read_query(text).map_err(|_| {
                    Error::invalid("query: expected a word that the model knows, found none")
                })?;
                queries = named(neighbours.queries(&query, k));
            }
            (None, Some(id), None) => {
                let no = self.standing(&state, id)?;
                near = self.near_documents(&state, view, no, k)?;
            }
            (None, None, Some(word)) => {
                let (in_queries, in_documents) = neighbours.words(word, k)?;
                (queries, near) = (named(in_queries), named(in_documents));
            }
            _ => return Err(Error::invalid("expected one of query, id and word")),
        }
        let model = view.served.about.model.clone();
        Ok(SimilarResponse { model, queries, documents: near })
    }

    /// The documents whose images have the largest cosine with that of `no`.
    fn near_documents(
        &self,
        state: &State,
        view: &View,
        no: u32,
        k: usize,
    ) -> Result<Vec<Near>, Error> {
        let Some(image) = view.image(no) else { return Ok(Vec::new()) };
        let mut best: Vec<(u32, f64)> = Vec::new();
        for other in (0..state.end).filter(|&other| other != no && !state.dead.contains(other)) {
            let Some(theirs) = view.image(other) else { continue };
            let cosine = liken::linalg::cosine(&image, &theirs);
            if cosine > 0.0 {
                best.push((other, cosine));
            }
        }
        let nearer = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        select_sorted(&mut best, k, nearer);
        let numbers: Vec<u32> = best.iter().map(|&(no, _)| no).collect();
        let titles =
            self.bodies(&numbers)?.into_iter().map(|fields| fields.and_then(|f| title(&f)));
        let near = |((no, cosine), title): ((u32, f64), Option<String>)| Near {
            name: state.id(no).to_owned(),
            title,
            cosine,
        };
        Ok(best.into_iter().zip(titles).map(near).collect())
    }

    /// The model called `name`, or the first that has a latent space.
    fn latent_view<'a>(&self, state: &'a State, name: Option<&str>) -> Result<&'a View, Error> {
        if let Some(name) = name {
            return Ok(self.views(state, &[name.to_owned()])?[0]);
        }
        let has_one = |view: &&View| latent_part(view.model()).is_ok();
        state.models.iter().find(has_one).ok_or_else(|| {
            Error::invalid(
                "no model of this index has a latent space; rmls, pls and others have one",
            )
        })
    }
}

fn latent_part(model: &Model) -> Result<(usize, &Bilinear), Error> {
    let mut parts = model.parts.iter().enumerate();
    parts.find_map(|(p, part)| Some((p, part.matcher.bilinear()?))).ok_or_else(|| {
        Error::invalid(format!(
            "{} has no latent space; rmls, pls and others have",
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

/// Documents beside a model, or the model made anew with them.
pub(super) fn newcomers(
    view: &View,
    given: &[Document],
) -> Result<Result<Newcomers, Model>, Error> {
    if let Some(new) = view.served.model.newcomers(given)? {
        return Ok(Ok(new));
    }
    let mut renamed = given.to_vec();
    renamed.iter_mut().enumerate().for_each(|(at, d)| d.id = format!("\u{1}{at}"));
    Ok(Err(Model::open(&view.served.folder)?.with_documents(&renamed)?))
}
