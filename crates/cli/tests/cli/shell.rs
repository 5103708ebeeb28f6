//! Completions, man pages, suggestions for misspelt names, quiet runs, colours and repeated warnings.

use crate::place::{Place, Said};
use crate::shared::{at, shared};

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = place.run(&format!("completions {shell}")).silent();
        said.shows(&["liken", "experiment", "max-memory", "completions"]);
    }
    place.run("completions csh").refused(2, &["csh", "bash", "fish"]);
    // The script is one that bash can read, and it completes.
    let line = "source <(liken completions bash); COMP_WORDS=(liken tra); COMP_CWORD=1; \
                _liken liken tra liken; echo \"${COMPREPLY[@]}\"";
    assert_eq!(place.bash(line).silent().out, "train translate\n");
}

#[test]
fn every_command_gets_a_page_of_the_manual() {
    let place = Place::new();
    assert!(place.run("man -o pages/man1").silent().out.starts_with("wrote pages/man1: "));
    for (page, words) in [
        ("liken.1", ["click logs", "liken\\-train(1)"]),
        ("liken-train.1", ["\\-\\-max\\-memory", "Examples:"]),
        ("liken-rank-train.1", ["liken\\-rank\\-train", "\\-\\-validation"]),
    ] {
        let text = std::fs::read_to_string(place.path("pages/man1").join(page)).unwrap();
        for word in words {
            assert!(text.contains(word), "no {word:?} in {page}:\n{text}");
        }
    }
    // Again, beside other pages.
    place.run("man -o pages/man1").silent();
    place.file("file", "");
    place.run("man -o file").refused(1, &["file"]);
}

#[test]
fn commands_are_listed_in_groups() {
    let all = Place::new().run("--help").silent().out;
    let place = |title: &str| all.find(title).unwrap_or_else(|| panic!("no {title:?} in\n{all}"));
    assert!(place("\nData:\n  import ") < place("\nModels:\n"));
    assert!(place("\nModels:\n") < place("\n  train "));
    assert!(place("\nSearch service:\n  index ") < place("\nOptions:\n"));
}

#[test]
fn misspelt_names_are_recognised() {
    let place = Place::new();
    let data = at("data");
    for (line, meant) in [
        (format!("train rlms {data} -o m"), "did you mean rmls?"),
        (format!("compare {data} --models bm25,lm_jm"), "did you mean lm-jm?"),
        (format!("train rmls {data} -o m --set sweps=3"), "did you mean sweeps?"),
        (format!("train rmls {data} -o m --set start=spectrl"), "did you mean spectral?"),
        (format!("train rmls {data} -o m --set features.doc_clik=1"), "did you mean doc_clicks?"),
        (format!("compare {data} --measures nDGC@10"), "did you mean nDCG@10?"),
        (format!("eval {0} {0} -m recip_rnk", at("bm25.trec")), "did you mean recip_rank?"),
        (format!("eval {0} {0} -m ndcg_cot.10", at("bm25.trec")), "did you mean ndcg_cut.10?"),
        (format!("compare {data} --models bm25,pls --rankers mart:-plz"), "did you mean pls?"),
        (format!("tune rmls {data} --budget 2 -o t --set dimm=3"), "did you mean dim?"),
        ("trian x".into(), "'train'"),
        ("info x --fromat json".into(), "'--format'"),
    ] {
        let said = place.run(&line);
        assert!(matches!(said.code, Some(1 | 2)), "{line}");
        assert!(said.err.contains(meant), "{line}: no {meant:?} in\n{}", said.err);
    }
    // Nothing is suggested where nothing is near.
    let said = place.run(&format!("train word2vec {data} -o m"));
    assert!(!said.err.contains("did you mean"), "{}", said.err);
    assert!(place.names().is_empty());
}

#[test]
fn quiet_runs_print_results_and_errors_alone() {
    let place = Place::with(&[(
        "clicks.tsv",
        "query\tdoc\tclicks\nred car\ta\t3\nblue car\tb\t2\ngreen car\tc\t2\n",
    )]);
    let line = "import --clicks clicks.tsv --min-clicks 1 --validation 0 --test 0 -o";
    let said = place.run(&format!("{line} loud")).fine();
    assert!(said.err.contains("warning: ") && said.out.contains("wrote loud"), "{}", said.err);
    let said = place.run(&format!("{line} calm -q")).silent();
    assert_eq!(said.out, "");
    for line in
        ["train pls calm -o m --dim 2 -q", "synth demo --scale 0.2 -o d -q", "man -o man -q"]
    {
        assert_eq!(place.run(line).silent().out, "", "{line}");
    }
    // What was asked for is still printed.
    assert_ne!(place.run("search m car -q").silent().out, "");
    let said = place.run("train pls calm -o n --dim 2 -q --format json").silent();
    assert_eq!(said.json()["model"], "n");
    place.run("train pls none -o x -q").refused(1, &["error: ", "none"]);
}

#[test]
fn colours_are_for_terminals_and_can_be_forced_or_forbidden() {
    let place = Place::new();
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = place.command("info nowhere");
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied());
        Said::of(command.output().unwrap()).err.contains('\x1b')
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn warnings_of_several_models_are_one_and_repeated_ones_are_counted() {
    // No training query has a word of its own, so both models warn of the same.
    let said = shared().run("compare data --models rmls,pls --dim 5000").fine();
    let warnings: Vec<&str> =
        said.err.lines().filter(|line| line.starts_with("warning: ")).collect();
    let mut texts: Vec<&str> = warnings
        .iter()
        .map(|line| line.rsplit_once(": ").map_or(*line, |(_, text)| text))
        .collect();
    let n = texts.len();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), n, "{warnings:#?}");
}
