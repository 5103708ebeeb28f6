//! The papers' own settings.

use std::time::Duration;

use super::*;

/// The method's own setting, small enough for a test.
fn published(name: &str) -> Params {
    let mut params = small(name);
    params.set_published().unwrap();
    params
}

#[test]
fn a_published_setting_is_not_the_default_and_a_model_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for name in published_methods() {
        let params = published(name);
        params.check().unwrap();
        assert_ne!(params, small(name), "{name}");
        let known = params.docs();
        for (key, _) in params.published() {
            assert!(known.iter().any(|doc| doc.key == *key), "{name} {key}");
        }
        let mixture = Mixture::parse(name).unwrap();
        let (preparation, run) = (Preparation::default(), Run::silent());
        let models = std::slice::from_ref(&params);
        let trained =
            crate::training::train(&dataset, &preparation, &mixture, models, &run).unwrap();
        let query = trained.model.read_query("cover cars policy").unwrap();
        let scores = trained.model.scores(&query);
        assert!(scores.iter().any(|&score| score != 0.0), "{name}");
        let path = dir.path().join(name);
        trained.save(&path, false, Duration::ZERO).unwrap();
        let loaded = Model::open(&path).unwrap();
        assert_eq!(loaded.parts[0].params, params, "{name}");
        assert_eq!(loaded.scores(&query), scores, "{name}");
    }
}

#[test]
fn the_space_of_a_published_setting_has_values_that_it_takes() {
    for name in published_methods() {
        let base = crate::tuning::Setting {
            preparation: Preparation::default(),
            models: vec![(name.to_owned(), published(name))],
        };
        let space = crate::tuning::Space::built_in(&base).unwrap();
        for stream in 0..20 {
            let drawn = space.draw(&mut crate::random::Random::new(1, stream));
            base.with(&drawn).unwrap().check().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn a_published_setting_can_be_changed_and_another_method_has_none() {
    let mut params = published("rmls");
    params.set("start", "spectral").unwrap();
    let Params::Rmls(rmls) = &params else { unreachable!() };
    assert_eq!((rmls.start, rmls.by_words), (Start::Spectral, ByWords::Never));
    let message = Params::named("bm25").unwrap().set_published().unwrap_err().to_string();
    assert!(message.contains("published = true: expected false, or"), "{message}");
    assert!(message.contains("rmls"), "{message}");
}
