//! The closed set of methods and their parameters. Each is defined once, as a struct; what
//! the command line, a TOML file and `--help` know of it is read off that struct.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Bltm, Bm25, Clicked, Cnmf, Crlsi, Dependence, Expansion, Feedback, FitReport, Fitting, Gnmf,
    Grlsi, Judge, Kept, Knn, Lda, Lm, LsiDt, LsiQd, Matcher, Method, Mpls, Nmf, Pls, Plsi, Ridge,
    Rlsi, Rm3, Rmls, Smoothing, Square, Ssi, SvdFeature, Translation, Vpcg, Vsm, Walk,
};
use crate::features::{Counts, Features, NewDocuments, Preparation};
use crate::params::{ParamDoc, docs, edited, merge, set_key};
use crate::{Error, Result, Run};

/// A name, one sentence about it, and the parameters it stands for.
type Named = (&'static str, &'static str, fn() -> Params);

/// Makes the closed set of methods from a line for each: its name, its struct, and one sentence.
macro_rules! methods {
    ($($name:literal $method:ident $about:literal)*) => {
        /// The parameters of one method.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method", content = "params")]
        pub enum Params {
            $(
                #[doc = $about]
                #[serde(rename = $name)]
                $method($method),
            )*
        }

        /// Every method by name, with one sentence about it.
        const METHODS: &[Named] =
            &[$(($name, $about, || Params::$method($method::default()))),*];

        impl Params {
            /// The method's name.
            pub fn name(&self) -> &'static str {
                match self {
                    Params::Lm(Lm { smoothing: Smoothing::Jm, .. }) => "lm-jm",
                    $(Params::$method(_) => $name,)*
                }
            }

            /// Refuses values that make no sense.
            pub fn check(&self) -> Result<()> {
                match self { $(Params::$method(params) => params.check(),)* }
            }

            /// Whether fitting learns something, so that it takes its time.
            pub fn learns(&self) -> bool {
                match self { $(Params::$method(params) => params.learns(),)* }
            }

            /// Whether the method weighs clicks, so that what was made of them counts.
            pub fn weighs_clicks(&self) -> bool {
                match self { $(Params::$method(params) => params.weighs_clicks(),)* }
            }

            /// Whether what is fitted depends on clicks, weighed or as they are.
            pub fn learns_from_clicks(&self) -> bool {
                match self { $(Params::$method(params) => params.learns_from_clicks(),)* }
            }

            /// The features of a method that learns maps or weights of features.
            pub fn features(&self) -> Option<Features> {
                match self { $(Params::$method(params) => Method::features(params),)* }
            }

            /// The latent dimensions of the maps that are learnt, if there are maps.
            pub fn dim(&self) -> Option<usize> {
                match self { $(Params::$method(params) => params.dim(),)* }
            }

            /// Whether a fit chooses by what validation says.
            pub fn validated(&self) -> bool {
                match self { $(Params::$method(params) => params.validated(),)* }
            }

            /// Whether the method looks at where words stand.
            pub fn needs_positions(&self) -> bool {
                match self { $(Params::$method(params) => params.needs_positions(),)* }
            }

            /// The field that the class of a document stands in, if the method learns by class.
            pub fn class_field(&self) -> Option<&str> {
                match self { $(Params::$method(params) => params.class_field(),)* }
            }

            /// Sets the seed, where the method has one.
            pub fn seed(&mut self, seed: u64) {
                match self { $(Params::$method(params) => params.set_seed(seed),)* }
            }

            /// Every parameter of the method, with its default.
            pub fn docs(&self) -> Vec<ParamDoc> {
                match self { $(Params::$method(_) => docs::<$method>(),)* }
            }

            /// Fits a matcher.
            pub fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
                match self { $(Params::$method(params) => params.fit_to(fitting),)* }
            }

            /// Puts a matcher together again from what a model folder keeps.
            pub fn restore(&self, counts: &Counts, kept: Kept<'_>) -> Result<Box<dyn Matcher>> {
                match self { $(Params::$method(params) => params.restore(counts, kept),)* }
            }

            /// The matcher over `new` documents alone, if it follows from the counts.
            pub fn beside(
                &self,
                counts: &Counts,
                new: &NewDocuments,
            ) -> Result<Option<Box<dyn Matcher>>> {
                match self { $(Params::$method(params) => params.beside(counts, new),)* }
            }

            fn edit(&mut self, change: impl FnOnce(&mut Value) -> Result<()>) -> Result<()> {
                *self = match self {
                    $(Params::$method(params) => Params::$method(edited(params, change)?),)*
                };
                Ok(())
            }
        }
    };
}

methods! {
    "bm25" Bm25 "BM25 as Lucene computes it: the lexical baseline"
    "vsm" Vsm "vector space model: tf-idf cosine"
    "lm" Lm "query likelihood with Dirichlet smoothing (also as lm-dirichlet)"
    "dependence" Dependence "sequential dependence: query likelihood of words and of neighbouring words, in order and near"
    "pls" Pls "partial least squares: orthonormal maps learnt from clicks"
    "lsi_dt" LsiDt "latent semantic indexing of documents and terms: learns from documents alone"
    "lsi_qd" LsiQd "latent semantic indexing of clicks: only knows queries that have some"
    "mpls" Mpls "PLS with a model for words and one for clicks, or other ways to join the two"
    "rmls" Rmls "regularised mapping to latent structures: maps with rows of unit norm, sparse if asked"
    "square" Square "square loss over all pairs: from PLS towards canonical correlation by one knob"
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

/// Further names: methods with a parameter set.
const PRESETS: [Named; 3] = [
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
    METHODS.iter().chain(&PRESETS).map(|&(name, about, _)| (name, about))
}

impl Params {
    /// The method called `name`, with its defaults.
    pub fn named(name: &str) -> Result<Self> {
        let found = METHODS.iter().chain(&PRESETS).find(|(known, ..)| *known == name);
        found.map(|(_, _, make)| make()).ok_or_else(|| {
            let known: Vec<&str> = methods().map(|(name, _)| name).collect();
            Error::Unknown {
                kind: "method",
                name: name.to_owned(),
                advice: format!("there are {}", known.join(", ")),
            }
        })
    }

    /// Fits a matcher to `counts`. `judge`, where there is any, decides when to stop.
    pub fn fit(
        &self,
        counts: &Counts,
        judge: Option<&Judge<'_>>,
        run: &Run<'_>,
    ) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.fit_to(Fitting { counts, init: None, judge, run })
    }

    /// How text is read for `models`: as `preparation` says, with what they cannot do without.
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

    /// Sets the parameter `key` (dots lead into tables) to `value`, written as in TOML; a
    /// bare word is text. Whether all of them make sense together is for [`Params::check`].
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        self.edit(|params| set_key(params, key, value))
    }

    /// Sets every parameter that `table` names.
    pub fn merge(&mut self, table: &Map<String, Value>) -> Result<()> {
        self.edit(|params| {
            merge(params, table);
            Ok(())
        })
    }
}

/// Every parameter of how text is read, each key beginning with `preparation.`.
pub fn preparation_docs() -> Vec<ParamDoc> {
    let mut all = docs::<Preparation>();
    all.iter_mut().for_each(|doc| doc.key = format!("preparation.{}", doc.key));
    all
}
