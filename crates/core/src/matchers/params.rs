//! The closed set of methods and their parameters. Each is defined once, as a struct, from which the
//! command line, TOML files and help texts derive.

use super::{
    Association, Bltm, Bm25, Clicked, Cnmf, Crlsi, Dependence, Expansion, Feedback, FitReport,
    Fitting, Gnmf, Grlsi, Knn, Lda, Lm, LsiDt, LsiQd, Matcher, Method, Mpls, Nmf, Pls, Plsi, Ridge,
    Rlsi, Rm3, Rmls, Smoothing, Square, Ssi, SvdFeature, Translation, ValidationScorer, Vpcg, Vsm,
    Walk,
};
use crate::features::{Counts, Preparation};
use crate::params::{Named, ParamDoc, docs, find_named, methods};
use crate::{Error, Result, Run};

methods! {
    /// The parameters of one method; it derefs to [`Method`].
    Params as dyn Method;
    "bm25" Bm25 "BM25 as Lucene computes it: the lexical baseline"
    "vsm" Vsm "vector space model: tf-idf cosine"
    "lm" Lm "query likelihood with Dirichlet smoothing (also as lm-dirichlet)"
    "dependence" Dependence "sequential dependence: query likelihood of words and of neighbouring words, in order and near"
    "pls" Pls "partial least squares: orthonormal maps learnt from clicks"
    "lsi_dt" LsiDt "latent semantic indexing of documents and terms: learns from documents alone"
    "lsi_qd" LsiQd "latent semantic indexing of clicks: only knows queries that have some"
    "mpls" Mpls "PLS with a model for words and one for clicks, or other ways to join the two"
    "rmls" Rmls "regularised mapping to latent structures: maps with rows of unit norm, sparse if asked"
    "association" Association "RMLS without a latent space: query features and document features that were clicked together"
    "square" Square "square loss over all pairs: between PLS and canonical correlation analysis, by λ"
    "ssi" Ssi "supervised semantic indexing: pairs of words weighted by a margin between clicked and other documents"
    "svdfeature" SvdFeature "feature-based matrix factorisation: biases and maps by stochastic gradient steps"
    "rlsi" Rlsi "regularised latent semantic indexing: topics of few words, from documents alone"
    "grlsi" Grlsi "group RLSI: topics that all documents share, and topics of every class"
    "crlsi" Crlsi "RLSI class by class"
    "nmf" Nmf "non-negative matrix factorisation: topics whose words only add up, from documents alone"
    "gnmf" Gnmf "group NMF: topics that all documents share, and topics of every class"
    "cnmf" Cnmf "NMF class by class"
    "plsi" Plsi "probabilistic latent semantic indexing: topics of words by EM, from documents alone"
    "lda" Lda "latent Dirichlet allocation: topics of words by variational Bayes, from documents alone"
    "walk" Walk "backward random walk on the click graph: only knows queries that have clicks"
    "translation" Translation "word translation: IBM model 1 from the words of documents to those of queries"
    "bltm" Bltm "bilingual topic model: topics with words of queries and words of documents"
    "vpcg" Vpcg "vector propagation on the click graph: vectors of query words, passed along clicks"
    "knn" Knn "nearest neighbours among the queries: queries with the same words pass on their clicks"
    "clicked" Clicked "BM25 over the text and the queries that a document was clicked for"
    "feedback" Feedback "feedback from the best documents, in the joint space of words and clicks"
    "expansion" Expansion "tf-idf cosine with the mean of the best documents added to the query"
    "rm3" Rm3 "relevance model: query likelihood with words of the best documents added"
    "ridge" Ridge "square loss without a bottleneck: weights from query words to documents"
}

/// Further names: methods with parameters already set.
const PRESETS: [Named<Params>; 3] = [
    ("lm-dirichlet", "query likelihood with Dirichlet smoothing", || Params::Lm(Lm::default())),
    ("lm-jm", "query likelihood with Jelinek–Mercer smoothing", || {
        Params::Lm(Lm { smoothing: Smoothing::Jm, ..Lm::default() })
    }),
    ("lsi", "latent semantic indexing of documents and terms, as lsi_dt", || {
        Params::LsiDt(LsiDt::default())
    }),
];

/// Every name of a method, with one sentence about it.
pub fn methods() -> impl Iterator<Item = (&'static str, &'static str)> {
    Params::METHODS.iter().chain(&PRESETS).map(|&(name, about, _)| (name, about))
}

/// The methods that have a published setting.
pub fn published_methods() -> impl Iterator<Item = &'static str> {
    let has = |(_, _, make): &&Named<Params>| !make().published().is_empty();
    Params::METHODS.iter().filter(has).map(|&(name, ..)| name)
}

impl Params {
    /// The method called `name`, with its defaults.
    pub fn named(name: &str) -> Result<Self> {
        find_named("method", name, Self::METHODS.iter().chain(&PRESETS))
    }

    /// The method's name.
    pub fn name(&self) -> &'static str {
        match self {
            Params::Lm(Lm { smoothing: Smoothing::Jm, .. }) => "lm-jm",
            _ => self.listed_name(),
        }
    }

    /// Sets the paper's own setting ([`Method::published`]); an error if the method has none.
    pub fn set_published(&mut self) -> Result<()> {
        if self.published().is_empty() {
            let with: Vec<&str> = published_methods().collect();
            let expected = format!("false, or a method with its own: {}", with.join(", "));
            return Err(Error::parameter("published", true, &expected));
        }
        self.published().iter().try_for_each(|(key, value)| self.set(key, value))
    }

    /// Fits a matcher to `counts`, with early stopping by `scorer`, if there is one.
    pub fn fit(
        &self,
        counts: &Counts,
        scorer: Option<&ValidationScorer<'_>>,
        run: &Run<'_>,
    ) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.fit_to(Fitting { counts, init: None, scorer, run })
    }

    /// `preparation` with what `models` need: positions and classes.
    pub fn prepared<'a>(
        preparation: &Preparation,
        models: impl IntoIterator<Item = &'a Params>,
    ) -> Preparation {
        let mut prepared = preparation.clone();
        for params in models {
            prepared.positions |= params.needs_positions();
            if prepared.class.is_none() {
                prepared.class = params.class_field().map(str::to_owned);
            }
        }
        prepared
    }

    /// Whether the method has latent dimensions.
    pub fn has_dim(&self) -> bool {
        self.dim().is_some()
    }
}

/// Every parameter of the preparation of text, with keys that begin with `preparation.`.
pub fn preparation_docs() -> Vec<ParamDoc> {
    let mut all = docs::<Preparation>();
    all.iter_mut().for_each(|doc| doc.key = format!("preparation.{}", doc.key));
    all
}
