//! Building an index from a dataset and models. It appears whole or not at all.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use liken::Run;
use liken::data::{Dataset, Document};
use liken::features::Preparation;
use liken::file::{NewFile, StagedFolder};
use liken::matchers::{Mixture, Params};
use liken::rank::Ranker;
use liken::text::Analyzer;
use rayon::prelude::*;

use super::layout::{
    FORMAT, IndexAbout, Layout, TextReading, bytes_of, check_name, exact_below, link_folder,
    make_folder, model_folder, preparation_of,
};
use super::rankers::{self, Rankers};
use super::registry::add_version;
use crate::Error;
use crate::store::Store;
use crate::text::TextIndex;
use crate::types::ModelAbout;

/// Documents per block.
const BLOCK: usize = 4096;
/// Memory of the text index while it is built, in bytes.
const TEXT_MEMORY: usize = 256 << 20;

/// The parameters of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexBuilder {
    /// The dataset folder.
    pub dataset: PathBuf,
    /// Model folders, each with its name in the index; by default that of its method.
    pub models: Vec<(Option<String>, PathBuf)>,
    /// Ranker folders or models of LightGBM, each with its name in the index; by default that of its
    /// method.
    pub rankers: Vec<(Option<String>, PathBuf)>,
    /// The folder of the index.
    pub output: PathBuf,
    /// Replace an existing index.
    pub force: bool,
    /// Up to this many documents search is exact; 100,000 by default.
    pub exact_below: Option<usize>,
}

/// The report of a build.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BuildReport {
    /// The number of documents.
    pub documents: u32,
    /// The models of the index, in the order in which they were named.
    pub models: Vec<BuiltModel>,
    /// The names of the rankers.
    pub rankers: Vec<String>,
    /// Bytes on disk, without the files shared with the dataset and the model folders.
    pub bytes: u64,
}

/// A model of a new index.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BuiltModel {
    /// Name of the model in the index.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The method, or the mix of methods.
    pub method: String,
    /// Latent dimensions.
    pub dim: Option<usize>,
    /// The search for neighbours, if the model has a latent space.
    pub neighbours: Option<String>,
}

impl IndexBuilder {
    /// Builds the index.
    pub fn run(&self, run: &Run<'_>) -> Result<BuildReport, Error> {
        let [first, ..] = &self.models[..] else {
            return Err(Error::invalid(
                "an index needs at least one model, such as bm25 trained on the dataset",
            ));
        };
        let dataset = Dataset::open(&self.dataset)?;
        let names = self.model_names()?;
        let rankers = self.ranker_names()?;
        let staged = StagedFolder::create(&self.output, self.force, Layout::is_index)?;
        let layout = Layout::new(staged.folder());
        let reading = TextReading::from(&preparation_of(&first.1)?);
        let about = IndexAbout {
            kind: "index".into(),
            format: FORMAT,
            liken: env!("CARGO_PKG_VERSION").into(),
            dataset: dataset.folder.identity(),
            documents: u32::try_from(dataset.documents.len())
                .map_err(|_| Error::invalid("documents are numbered with 32 bits"))?,
            reading,
            exact_below: self.exact_below.unwrap_or_else(exact_below),
        };
        link_folder(&self.dataset, &layout.dataset())?;
        for folder in [layout.runs(), layout.rankers(), layout.root.join("models")] {
            make_folder(&folder)?;
        }
        let store = Store::create(&layout.store())?;
        // The text, every model and all rankers.
        let mut steps = run.steps(1 + names.len() + usize::from(!rankers.is_empty()));
        self.add_documents(&dataset, &about, &layout, &store, &steps.next_step())?;
        let mut models = Vec::new();
        for ((_, path), name) in self.models.iter().zip(names) {
            let entry =
                store.add_model(&add_version(&layout, &about, &name, path, &steps.next_step())?)?;
            let ModelAbout { model, method, dim, neighbours, .. } = entry.about;
            store.activate(&model)?;
            models.push(BuiltModel { name, version: model.version, method, dim, neighbours });
        }
        self.take_rankers(&rankers, &dataset, &about, &layout, &store, &steps.next_step())?;
        drop(store);
        let file = NewFile::create(&layout.about())?;
        serde_json::to_writer_pretty(file.writer()?, &about)
            .map_err(|error| Error::internal(error.to_string()))?;
        file.commit()?;
        let bytes = bytes_of(&layout.store())
            + bytes_of(&layout.text())
            + bytes_of(&layout.all_embeddings())
            + bytes_of(&layout.counts());
        staged.publish()?;
        Ok(BuildReport { documents: about.documents, models, rankers, bytes })
    }

    /// The names of the models: as given, or those of their methods.
    fn model_names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = Vec::new();
        for (given, path) in &self.models {
            names.push(match given {
                Some(name) => name.clone(),
                None => {
                    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
                    model_folder(path)?.manifest.about.name.chars().map(plain).collect()
                }
            });
        }
        check_names("model", &names)?;
        Ok(names)
    }

    /// The names of the rankers: as given, or those of their methods.
    fn ranker_names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = Vec::new();
        for (given, path) in &self.rankers {
            let ranker = Ranker::open(path)?;
            names.push(given.clone().unwrap_or_else(|| ranker.name().to_owned()));
        }
        check_names("ranker", &names)?;
        match names.iter().find(|name| *name == rankers::NONE) {
            Some(name) => Err(Error::invalid(format!(
                "{name:?} cannot name a ranker: a search uses it to ask for no ranker"
            ))),
            None => Ok(names),
        }
    }

    /// Copies the rankers, makes counts for their features if no model has them, and checks that
    /// every feature can be extracted.
    fn take_rankers(
        &self,
        names: &[String],
        dataset: &Dataset,
        about: &IndexAbout,
        layout: &Layout,
        store: &Store,
        run: &Run<'_>,
    ) -> Result<(), Error> {
        for (name, (_, path)) in names.iter().zip(&self.rankers) {
            let target = layout.rankers().join(name);
            match path.is_dir() {
                true => link_folder(path, &target)?,
                false => drop(fs::copy(path, &target).map_err(liken::Error::io("copy", path))?),
            }
        }
        let entries = store.models()?;
        if rankers::need_counts(layout, about, &entries)? {
            let preparation = preparation_of(&self.models[0].1)?;
            let preparation = Preparation { positions: true, ..preparation };
            let (bm25, params) = (Mixture::parse("bm25")?, [Params::named("bm25")?]);
            let counted = liken::training::train(dataset, &preparation, &bm25, &params, run)?;
            counted.save(&layout.counts(), false, Duration::ZERO)?;
        }
        Rankers::open(layout, about, Some(dataset), &entries, &[], run)?;
        Ok(())
    }

    /// Writes the documents to the database and the text index.
    fn add_documents(
        &self,
        dataset: &Dataset,
        about: &IndexAbout,
        layout: &Layout,
        store: &Store,
        run: &Run<'_>,
    ) -> Result<(), Error> {
        let analyzer = Analyzer::new(&about.reading.analyzer)?;
        let text = TextIndex::create(&layout.text())?;
        let mut writer = text.batch_writer(TEXT_MEMORY)?;
        let mut loading = store.bulk_load()?;
        let n = dataset.documents.len();
        for first in (0..n).step_by(BLOCK) {
            run.step("indexing text", first as u64, Some(n as u64))?;
            let block: Vec<Document> = (first..(first + BLOCK).min(n))
                .map(|i| dataset.documents.get(i))
                .collect::<liken::Result<_>>()?;
            let read: Vec<_> = block
                .par_iter()
                .map(|document| about.reading.tokens(&analyzer, &document.fields))
                .collect();
            for (j, (document, tokens)) in block.into_iter().zip(read).enumerate() {
                writer.add((first + j) as u32, &tokens, &document.fields)?;
                loading.push(document.id, &document.fields)?;
            }
        }
        loading.finish()?;
        run.step("merging the text index", 0, None)?;
        writer.finish(0)?;
        Ok(())
    }
}

/// An error if models or rankers (`kind`) cannot have these names in one index.
fn check_names(kind: &str, names: &[String]) -> Result<(), Error> {
    for (at, name) in names.iter().enumerate() {
        check_name(kind, name)?;
        if names[..at].contains(name) {
            return Err(Error::invalid(format!(
                "two {kind}s are called {name:?}; give one another name, as in `{kind} = {name}-2=FOLDER`"
            )));
        }
    }
    Ok(())
}
