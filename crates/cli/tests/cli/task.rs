//! `liken task`: documents and links as datasets that every verb works on.

use crate::place::Place;

/// Forty documents in four groups of their own words, linked within their group.
fn place() -> Place {
    let mut documents = "id\ttitle\tbody\n".to_owned();
    let mut links = "query\tdoc\n".to_owned();
    for i in 0..40 {
        let group = i % 4;
        documents += &format!("D{i}\ttopic{group}\tword{} term{group} thing{}\n", i % 7, i % 11);
        for step in [4, 8, 20] {
            links += &format!("D{i}\tD{}\n", (i + step) % 40);
        }
    }
    links += "D3\tD3\n";
    Place::with(&[("d.tsv", &documents), ("l.tsv", &links)])
}

const TABLES: &str = "--documents d.tsv --links l.tsv -o data";

#[test]
fn links_become_a_dataset_that_can_be_compared_on() {
    let place = place();
    place.run(&format!("task links {TABLES}")).shows(&[
        "dropped 1 links of a document to itself",
        "wrote data: 40 queries, 40 documents, split by edges",
        "next: liken compare data",
    ]);
    let data = place.dataset("data");
    assert_eq!(data.clicks.nnz() + data.validation.nnz() + data.test.nnz(), 120);
    let line = "compare data --models vsm,lsi --set lsi.dim=4 --measures RankLossAll,AP,P@10";
    let said = place.run(&format!("{line} --candidates sampled:20:10 --standard-errors"));
    said.shows(&[
        "10 test queries, the judged documents and up to 20 others drawn at random are ranked",
        "mean ± standard error over the queries",
        "RankLossAll",
        " ± 0.",
    ]);
    let said = place.run(&format!("{line} --format json")).fine().json();
    let cell = &said["rows"][0]["cells"][1];
    assert!(cell["standard_error"].as_f64().unwrap() > 0.0, "{cell}");
    assert!(cell["mean"].as_f64().unwrap() > 0.1, "{cell}");
    assert_eq!(said["candidates"], "all");
    place.run("info data").fine();
    place.run("stats data").fine();
}

#[test]
fn documents_of_the_test_are_held_out_and_shares_keep_the_test() {
    let place = place();
    let line = format!("task links {TABLES} --split documents --validation 0.3 --test 0.3 --force");
    place.run(&line).shows(&["links between documents of different splits"]);
    let whole = place.dataset("data");
    assert_eq!(whole.held_out_documents.len(), 12 + 12);
    place.run(&format!("{line} --share 0.05")).shows(&["training links beyond `share`"]);
    let few = place.dataset("data");
    assert_eq!(
        (&few.held_out_documents, few.test.nnz()),
        (&whole.held_out_documents, whole.test.nnz())
    );
    assert!(few.clicks.nnz() < whole.clicks.nnz());
}

#[test]
fn keywords_are_words_of_the_document() {
    let place = place();
    place.run(&format!("task keywords --words 2 {TABLES}")).fine();
    let data = place.dataset("data");
    let query = data.queries.get(6).unwrap();
    let known = ["topic2", "word6", "term2", "thing6"];
    let words: Vec<&str> = query.text.split(' ').collect();
    assert_eq!((query.id.as_str(), words.len()), ("D6", 2));
    assert!(words.iter().all(|word| known.contains(word)), "{words:?}");
}

#[test]
fn clicks_at_rank_one_become_a_task_of_pages_and_adverts() {
    let mut events = "page_id\tadvert\timpression\tposition\tclicked\n".to_owned();
    for i in 0..40 {
        for rank in 1..=3 {
            let clicked = u8::from(i % 4 == rank);
            events += &format!("p{}\ta{}\ti{i}\t{rank}\t{clicked}\n", i % 10, (i + rank) % 6);
        }
    }
    let pages: String = (0..10).map(|i| format!("p{i}\ttext of page{i}\n")).collect();
    let adverts: String = (0..6).map(|i| format!("a{i}\tadvert{i}\n")).collect();
    let place = Place::with(&[
        ("e.tsv", &events),
        ("pages.tsv", &format!("id\ttext\n{pages}")),
        ("adverts.tsv", &format!("id\ttitle\n{adverts}")),
    ]);
    let line = "task content --events e.tsv --queries pages.tsv --documents adverts.tsv -o data --columns events:query=page_id,doc=advert,page=impression,rank=position";
    place.run(line).shows(&[
        "40 result pages, 30 of them with a click; 30 clicks, 10 of them at rank 1",
        "dropped 10 result pages without a click",
        "dropped 20 clicks below rank 1",
    ]);
    assert_eq!(place.dataset("data").documents.len(), 6);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = place();
    place.run("task links -o data --documents d.tsv").refused(2, &["--links <FILE>"]);
    place.run(&format!("task advert {TABLES}")).refused(2, &["links", "keywords", "content"]);
    place.run(&format!("task links --words 3 {TABLES}")).refused(2, &["--words 3"]);
    place.run(&format!("task links --share 0.9 {TABLES}")).refused(2, &["--share 0.9", "at most"]);
    place.run(&format!("task links --test 0.95 {TABLES}")).refused(2, &["validation + test"]);
    place.run(&format!("task content {TABLES}")).refused(2, &["--events <FILE>"]);
    let both = format!("task content --events l.tsv {TABLES}");
    place.run(&both).refused(2, &["no links for the task content"]);
    place.run(&format!("task links --test -0.3 {TABLES}")).refused(2, &["--test -0.3", "share"]);
    place.file("odd.tsv", "from\tto\na\tb\n");
    let odd = "task links -o data --documents d.tsv --links odd.tsv";
    place.run(odd).refused(1, &["odd.tsv:1", "--columns links:query=NAME"]);
    std::fs::remove_file(place.path("odd.tsv")).unwrap();
    let columns = "--columns query=a";
    place.run(&format!("task links {columns} {TABLES}")).refused(2, &["TABLE:OURS=THEIRS"]);
    assert_eq!(place.names(), ["d.tsv", "l.tsv"]);
    place.run("compare data --candidates sampled:0").refused(2, &["sampled:DOCUMENTS"]);
}
