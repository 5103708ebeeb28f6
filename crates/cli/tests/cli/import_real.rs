//! Real collections, each imported with one line; skipped, and counted, where they are absent.

use liken::data::Dataset;

use crate::place::Place;
use crate::real::data_with;

/// Imports the collection `name`: words that name one of its files stand for its path.
fn import(name: &str, line: &str) -> Option<(Place, Dataset)> {
    let folder = data_with(name)?.join(name);
    let place = Place::new();
    let words: Vec<String> = line
        .split_whitespace()
        .map(|word| match folder.join(word) {
            file if file.is_file() => file.to_str().unwrap().to_owned(),
            _ => word.to_owned(),
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    place.ask("import -o data", &words).fine();
    let data = place.dataset("data");
    Some((place, data))
}

#[test]
fn the_smart_collections_have_their_published_sizes() {
    for (name, line, documents, queries, judged) in [
        (
            "cran",
            "--documents cran.all.1400 --queries cran.qry --columns queries:id=position --judgments cranqrel --grades 1=4,2=3,3=2,4=1,-1=0 --validation 0 --test 1",
            1400,
            225,
            (225, 1837),
        ),
        (
            "cisi",
            "--documents CISI.ALL --queries CISI.QRY --judgments CISI.REL --validation 0 --test 1",
            1460,
            112,
            (76, 3114),
        ),
        (
            "med",
            "--documents MED.ALL --queries MED.QRY --judgments MED.REL --validation 0 --test 1",
            1033,
            30,
            (30, 696),
        ),
    ] {
        let Some((_, data)) = import(name, line) else { continue };
        let counts = &data.about().counts;
        assert_eq!((counts.documents, counts.queries, counts.test), (documents, queries, judged));
    }
}

#[test]
fn both_lists_of_med_hold_the_same_pairs() {
    let line = "--documents MED.ALL --queries MED.QRY --validation 0 --test 1 --judgments";
    let Some((_, new)) = import("med", &format!("{line} MED.REL")) else { return };
    let Some((_, old)) = import("med", &format!("{line} MED.REL.OLD")) else { return };
    assert_eq!(new.test, old.test);
}

#[test]
fn citeulike_is_a_graph_of_tags_and_articles() {
    let line = "--documents mult.dat --vocabulary vocabulary.dat --queries tags.dat --input-format queries:lines --links tag-item.dat --split edges";
    let Some((_, data)) = import("citeulike-t", line) else { return };
    let counts = &data.about().counts;
    assert_eq!((counts.documents, counts.queries), (25_975, 52_946));
    assert_eq!(counts.pairs + counts.validation.1 + counts.test.1, 290_830);
}

#[test]
fn zzquerylog_brings_its_clicks_in_lists() {
    let line = "--documents zz_query_log_documents.json --queries zz_query_log_queries.json --clicks zz_query_log_queries.json --judgments zz_query_log_qrels.txt --columns documents:id=wikidata_id,title=labels.pt,body=descriptions.pt --columns queries:id=query_id,text=query --columns clicks:query=query_id,doc=results.entity_id,clicks=results.clicks --lenient --min-clicks 1";
    let Some((_, data)) = import("zzquerylog", line) else { return };
    let counts = &data.about().counts;
    assert_eq!((counts.documents, counts.queries), (1593, 500));
    assert!(data.about().report.iter().any(|line| line.contains("6856 rows read, 1912 kept")));
    assert_eq!(counts.validation.1 + counts.test.1, 265);
}

#[test]
fn ap_and_newsgroups_are_documents_alone() {
    if let Some((_, data)) = import("ap", "--documents ap.dat --vocabulary vocab.txt") {
        assert_eq!((data.documents.len(), data.queries.len()), (2246, 0));
    }
    let line = "--documents train.ldac.gz --vocabulary vocab.txt.gz --classes train.labels";
    if let Some((_, data)) = import("newsgroups", line) {
        assert_eq!(data.documents.len(), 11_269);
        assert_eq!(data.documents.get(0).unwrap().fields["class"], "1");
    }
}

#[test]
fn sogou_is_read_as_gb18030() {
    let line = "--judgments train.txt --input-format tsv --no-header --columns judgments:query=0,doc=1,grade=2 --doc-text title --lenient --split queries";
    let Some((place, data)) = import("sogou-query-title", line) else { return };
    assert_eq!(data.documents.len(), 22_212);
    assert_eq!(
        data.documents.get(0).unwrap().fields["title"],
        "《爱回家》阿飞被发现他是木偶哥的第几集－搜狗问问"
    );
    assert!(data.about().report.iter().any(|line| line.contains("read as gb18030")));
    assert!(data.about().report.iter().any(|line| line.contains("22591 rows read, 22274 kept")));
    place.run("train bm25 data -o model --language none").fine();
    place.run("search model 爱回家").shows(&["爱回家"]);
}
