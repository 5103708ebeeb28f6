//! From a dataset and models to an index. It appears whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use liken::Run;
use liken::data::{Dataset, Document};
use liken::features::Preparation;
use liken::file::{FolderKind, NewFile, StagedFolder};
use liken::matchers::{Mixture, Params};
use liken::rank::Ranker;
use liken::text::Analyzer;
use rayon::prelude::*;

use super::layout::{
    FORMAT, IndexAbout, Layout, Reading, bytes_of, check_name, exact_below, link_folder,
};
use super::live::tokens;
use super::rankers::{self, Rankers};
use super::registry::take;
use crate::Error;
use crate::store::Store;
use crate::text::TextIndex;

/// Documents read at a time.
const BLOCK: usize = 4096;
/// Bytes that the text index may hold in memory while it is made.
const TEXT_MEMORY: usize = 256 << 20;

/// What an index is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Building {
    /// The dataset folder.
    pub dataset: PathBuf,
    /// Model folders, each with the name it is to have; else it is called as what it is.
    pub models: Vec<(Option<String>, PathBuf)>,
    /// Ranker folders or models of LightGBM, each with the name it is to have; else it is called
    /// as what it is.
    pub rankers: Vec<(Option<String>, PathBuf)>,
    /// The folder of the index.
    pub output: PathBuf,
    /// Replace an index that is there.
    pub force: bool,
    /// Up to this many documents search is exact; 100,000 if nobody says otherwise.
    pub exact_below: Option<usize>,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Built {
    /// Documents.
    pub documents: u32,
    /// Models.
    pub models: Vec<BuiltModel>,
    /// Rankers.
    pub rankers: Vec<String>,
    /// Bytes on disk, without what is shared with the dataset and the model folders.
    pub bytes: u64,
}

/// A model of a new index.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BuiltModel {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is made of.
    pub method: String,
    /// Latent dimensions.
    pub dim: Option<usize>,
    /// How neighbours are found.
    pub neighbours: Option<String>,
}

impl Building {
    /// Makes the index.
    pub fn run(&self, run: &Run<'_>) -> Result<Built, Error> {
        let [first, ..] = &self.models[..] else {
            return Err(Error::invalid(
                "an index needs a model, such as bm25 trained on the dataset",
            ));
        };
        let dataset = Dataset::open(&self.dataset)?;
        let names = self.names()?;
        let rankers = self.ranker_names()?;
        let staged = StagedFolder::create(&self.output, self.force, Layout::is_index)?;
        let layout = Layout::new(staged.folder());
        let reading = Reading::from(&read_preparation(&first.1)?);
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
        link_folder(&self.dataset, &layout.dataset())
            .map_err(liken::Error::io("copy", &self.dataset))?;
        for folder in [layout.runs(), layout.rankers(), layout.root.join("models")] {
            fs::create_dir_all(&folder).map_err(liken::Error::io("create", &folder))?;
        }
        let store = Store::create(&layout.store())?;
        self.documents(&dataset, &about, &layout, &store, run)?;
        let mut models = Vec::new();
        for ((_, path), name) in self.models.iter().zip(names) {
            let folder = layout.root.join("models").join(&name);
            fs::create_dir_all(&folder).map_err(liken::Error::io("create", &folder))?;
            let entry = store.add_model(&take(&layout, &about, &name, path, run)?)?;
            store.activate(&entry.name, &entry.version)?;
            models.push(BuiltModel {
                name,
                version: entry.version,
                method: entry.method,
                dim: entry.dim,
                neighbours: entry.neighbours,
            });
        }
        self.take_rankers(&rankers, &dataset, &about, &layout, &store, run)?;
        drop(store);
        let file = NewFile::create(&layout.about())?;
        serde_json::to_writer_pretty(file.writer()?, &about)
            .map_err(|error| Error::internal(error.to_string()))?;
        file.commit()?;
        let bytes = bytes_of(&layout.store())
            + bytes_of(&layout.text())
            + bytes_of(&layout.root.join("images"))
            + bytes_of(&layout.counts());
        staged.publish()?;
        Ok(Built { documents: about.documents, models, rankers, bytes })
    }

    /// The names of the models: as given, or what they are made of.
    fn names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = Vec::new();
        for (given, path) in &self.models {
            let name = match given {
                Some(name) => name.clone(),
                None => {
                    let about: liken::file::Folder<liken::matchers::ModelAbout> =
                        liken::file::Folder::open(path, FolderKind::Model)?;
                    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
                    about.manifest.about.name.chars().map(plain).collect()
                }
            };
            check_name("model", &name)?;
            if names.contains(&name) {
                return Err(Error::invalid(format!(
                    "two models are called {name:?}; name them, as in {name}-a"
                )));
            }
            names.push(name);
        }
        Ok(names)
    }

    /// The names of the rankers: as given, or how they were learnt.
    fn ranker_names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = Vec::new();
        for (given, path) in &self.rankers {
            let ranker = Ranker::open(path)?;
            let name = given.clone().unwrap_or_else(|| ranker.name().to_owned());
            check_name("ranker", &name)?;
            if name == rankers::NONE {
                return Err(Error::invalid(format!(
                    "{name:?} cannot name a ranker: it says that a search wants none"
                )));
            }
            if names.contains(&name) {
                return Err(Error::invalid(format!(
                    "two rankers are called {name:?}; name them, as in {name}-a"
                )));
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Copies the rankers, makes counts for their features if no model has them, and checks that
    /// every feature can be made.
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
            let copied = match path.is_dir() {
                true => link_folder(path, &target),
                false => fs::copy(path, &target).map(|_| ()),
            };
            copied.map_err(liken::Error::io("copy", path))?;
        }
        let entries = store.models()?;
        if rankers::need_counts(layout, about, &entries)? {
            let preparation = read_preparation(&self.models[0].1)?;
            let preparation = Preparation { positions: true, ..preparation };
            let words = Mixture::parse("bm25")?;
            let params = [Params::named("bm25")?];
            let counted = liken::training::train(dataset, &preparation, &words, &params, run)?;
            counted.save(&layout.counts(), false, Duration::ZERO)?;
        }
        Rankers::open(layout, about, Some(dataset), &entries, &[], run)?;
        Ok(())
    }

    /// Puts the documents into the database and the text index.
    fn documents(
        &self,
        dataset: &Dataset,
        about: &IndexAbout,
        layout: &Layout,
        store: &Store,
        run: &Run<'_>,
    ) -> Result<(), Error> {
        let analyzer = Analyzer::new(&about.reading.analyzer)?;
        fs::create_dir_all(layout.text()).map_err(liken::Error::io("create", &layout.text()))?;
        let text = TextIndex::create(&layout.text())?;
        let mut writer = text.batch_writer(TEXT_MEMORY)?;
        let mut loading = store.load()?;
        let n = dataset.documents.len();
        for first in (0..n).step_by(BLOCK) {
            run.step("indexing text", first as u64, Some(n as u64))?;
            let block: Vec<Document> = (first..(first + BLOCK).min(n))
                .map(|i| dataset.documents.get(i))
                .collect::<liken::Result<_>>()?;
            let read: Vec<_> = block
                .par_iter()
                .map(|document| tokens(about, &analyzer, &document.fields))
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

fn read_preparation(model: &Path) -> Result<Preparation, Error> {
    let folder: liken::file::Folder<liken::matchers::ModelAbout> =
        liken::file::Folder::open(model, FolderKind::Model)?;
    Ok(folder.read_json("preparation.json")?)
}
