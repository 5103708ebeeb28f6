//! The service that the tests look at: the demo log with a model that counts words and one that
//! has learnt from clicks, served from this process and shared by all tests.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use liken::Run;
use liken::data::{Dataset, Document};
use liken::features::Preparation;
use liken::matchers::{Mixture, Params};
use liken::synth::{Synthetic, SyntheticLog};
use liken_engine::{Engine, IndexBuilder, Settings};
use liken_server::http::ServeOptions;
use serde_json::{Value, json};

use crate::driver::PATIENCE;

/// A running service.
pub struct Service {
    /// Where it is, without a slash at the end.
    pub url: String,
    /// The name of a model that counts words.
    pub lexical: String,
    /// The name of a model with a latent space, learnt from clicks.
    pub learnt: String,
    engine: Arc<Engine>,
}

/// The service, started by the first test that asks for it. It ends with the process.
pub fn service() -> &'static Service {
    static SERVICE: OnceLock<Service> = OnceLock::new();
    SERVICE.get_or_init(start)
}

fn start() -> Service {
    // Among the build's output: what stands for ever is never dropped, so a folder of its own
    // would be left behind.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser-service");
    std::fs::create_dir_all(&folder).unwrap();
    let run = &Run::silent();
    let data = folder.join("data");
    Synthetic::new(SyntheticLog::Demo).write(&data, true, run).unwrap();
    let dataset = Dataset::open(&data).unwrap();
    let names = ["bm25", "rmls"];
    let models = names.map(|name| {
        let mut params = Params::named(name).unwrap();
        if params.has_dim() {
            params.set("dim", "50").unwrap();
        }
        let mixture = Mixture::parse(name).unwrap();
        let preparation = Preparation::default();
        let trained = liken::training::train(&dataset, &preparation, &mixture, &[params], run);
        let path = folder.join(name);
        trained.unwrap().save(&path, true, Duration::ZERO).unwrap();
        (Some(name.to_owned()), path)
    });
    let output = folder.join("index");
    let building = IndexBuilder {
        dataset: data,
        models: models.into(),
        output: output.clone(),
        force: true,
        ..IndexBuilder::default()
    };
    building.run(run).unwrap();
    let engine = Engine::open(&output, Settings::default()).unwrap();

    let (tell, told) = mpsc::channel();
    let options = ServeOptions {
        addr: SocketAddr::from(([127, 0, 0, 1], 0)),
        listening: Some(Box::new(move |address| tell.send(address).unwrap())),
        ..ServeOptions::default()
    };
    let served = Arc::clone(&engine);
    std::thread::spawn(move || liken_server::run(served, options, || false).unwrap());
    let address = told.recv_timeout(PATIENCE).expect("the service listens");
    let [lexical, learnt] = names.map(str::to_owned);
    Service { url: format!("http://{address}"), lexical, learnt, engine }
}

impl Service {
    /// Puts a document into the index and waits until search sees it.
    pub fn put(&self, id: &str, title: &str, body: &str) {
        let fields = json!({"title": title, "body": body, "url": "javascript:window.pwned=8"});
        let Value::Object(fields) = fields else { unreachable!() };
        let written = self.engine.upsert(vec![Document { id: id.into(), fields }]).unwrap();
        assert!(self.engine.wait_for(written.sequence, PATIENCE), "{id} is not searchable");
    }
}
