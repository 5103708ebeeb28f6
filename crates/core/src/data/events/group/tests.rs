use super::*;

/// User, page, seconds, rank, clicked, document; all for the query "q".
type Line = (&'static str, &'static str, i64, u32, bool, &'static str);

fn grouped(
    lines: &[Line],
    columns: LogColumns,
    rules: &EventRules,
) -> (Vec<QueryLog>, DroppedEvents) {
    let dir = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(dir.path(), 1 << 20).unwrap();
    let mut record = Vec::new();
    for &(user, page, seconds, rank, clicked, doc) in lines {
        let of_page = !page.is_empty();
        let (query, spelling) = ("q", "Q");
        let event = Event { query, user, page, seconds, rank, clicked, of_page, doc, spelling };
        event.encode(&mut record);
        sorter.push(&record).unwrap();
    }
    let mut logs = Vec::new();
    let run = Run::silent();
    let sorted = sorter.finish(&run).unwrap();
    let dropped = group(sorted, columns, rules, &HashSet::new(), &run, |log| {
        logs.push(log);
        Ok(())
    });
    (logs, dropped.unwrap())
}

const ALL: LogColumns = LogColumns {
    times: true,
    times_have_dates: false,
    users: true,
    ranks: true,
    impressions: true,
};

#[test]
fn the_events_of_one_page_are_one_list() {
    let lines = [
        ("ann", "", 0, 2, false, "b"),
        ("ann", "", 0, 1, false, "a"),
        ("ann", "", 5, 2, true, "b"),
        // Half an hour later it is another page.
        ("ann", "", 5 + MAX_GAP + 1, 1, false, "c"),
        ("bob", "", 3, 1, false, "a"),
        ("bob", "", 3, 2, true, "b"),
    ];
    let (logs, dropped) = grouped(&lines, ALL, &EventRules::default());
    assert_eq!(dropped, DroppedEvents::default());
    let log = &logs[0];
    assert_eq!(log.docs, ["a", "b", "c"]);
    assert_eq!(log.clicks, [(1, 3, 1), (1, 5, 1)]);
    assert_eq!(log.spellings, [("Q".to_owned(), 6)]);
    let page = vec![(0, 1, false), (1, 2, true)];
    let other = vec![(2, 1, false)];
    assert_eq!(log.lists, [(3, 1, page.clone()), (5, 1, page), (5 + MAX_GAP + 1, 1, other)]);
}

#[test]
fn a_page_of_its_own_keeps_events_together_and_apart() {
    let lines = [
        ("", "p1", 0, 0, false, "a"),
        ("", "p2", 0, 0, false, "a"),
        ("", "p1", 9 + 2 * MAX_GAP, 0, true, "b"),
    ];
    let columns = LogColumns { users: false, ranks: false, ..ALL };
    let lists = &grouped(&lines, columns, &EventRules::default()).0[0].lists;
    let late = 9 + 2 * MAX_GAP;
    let both = vec![(0, 0, false), (1, 0, true)];
    assert_eq!(*lists, [(0, 1, vec![(0, 0, false)]), (late, 1, both)]);
    // Without users and pages, what was shown in one second was one page.
    let lines =
        lines.map(|(user, _, seconds, rank, clicked, doc)| (user, "", seconds, rank, clicked, doc));
    let columns = LogColumns { ..columns };
    let lists = &grouped(&lines, columns, &EventRules::default()).0[0].lists;
    assert_eq!(*lists, [(0, 1, vec![(0, 0, false)]), (9 + 2 * MAX_GAP, 1, vec![(1, 0, true)])]);
}

#[test]
fn repetitions_robots_and_rare_queries_are_left_out_and_counted() {
    let click = |user, seconds, doc| (user, "", seconds, 0, true, doc);
    let lines =
        [click("ann", 1, "a"), click("ann", 1, "a"), click("ann", 2, "a"), click("bob", 1, "a")];
    let columns = LogColumns { impressions: false, ..ALL };
    let rules = EventRules { max_per_user: Some(1), min_users: Some(2), ..EventRules::default() };
    let (logs, dropped) = grouped(&lines, columns, &rules);
    assert_eq!(logs[0].clicks, [(0, 1, 2)]);
    assert_eq!((dropped.repeated, dropped.beyond_cap), (1, 1));
    let rules = EventRules { min_users: Some(3), ..EventRules::default() };
    let (logs, dropped) = grouped(&lines, columns, &rules);
    assert!(logs.is_empty());
    assert_eq!((dropped.rare_queries, dropped.of_rare_queries), (1, 3));
    // Nobody in particular is not one user, and may do the same thing twice.
    let lines = [click("", 1, "a"), click("", 1, "a")];
    let rules = EventRules { max_per_user: Some(1), ..EventRules::default() };
    let (logs, _) = grouped(&lines, columns, &rules);
    assert_eq!(logs[0].clicks, [(0, 1, 2)]);
}

#[test]
fn users_with_too_many_events_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut users = Sorter::new(dir.path(), 64).unwrap();
    for (user, events) in [("ann", 3), ("robot", 40), ("bob", 4), ("spider", 5)] {
        for _ in 0..events {
            users.push(&user_key(user).to_be_bytes()).unwrap();
        }
    }
    let robots = robots(users, 4, &Run::silent()).unwrap();
    assert_eq!(robots, ["robot", "spider"].map(user_key).into());
}

#[test]
fn a_large_query_comes_in_pieces_and_keeps_its_caps_and_pages() {
    let mut lines: Vec<Line> = Vec::new();
    let docs: Vec<&'static str> =
        (0..10).map(|i| &*Box::leak(format!("d{i}").into_boxed_str())).collect();
    for search in 0..60_000 {
        // One user searches without end, others once.
        let user = if search % 2 == 0 {
            "robot"
        } else {
            Box::leak(format!("u{search}").into_boxed_str())
        };
        let time = search * 2 * MAX_GAP;
        lines.extend((1..).zip(&docs).map(|(rank, &doc)| (user, "", time, rank, rank == 1, doc)));
    }
    let rules = EventRules { max_per_user: Some(1), ..EventRules::default() };
    let (logs, dropped) = grouped(&lines, ALL, &rules);
    assert!(logs.len() > 1);
    let clicks: u64 = logs.iter().flat_map(|log| &log.clicks).map(|click| click.2).sum();
    assert_eq!((clicks, dropped.beyond_cap), (30_001, 29_999));
    let lists = || logs.iter().flat_map(|log| &log.lists);
    assert_eq!(lists().map(|list| list.1).sum::<u64>(), 60_000);
    assert!(lists().all(|(_, _, list)| list.len() == 10));
}

#[test]
fn without_ranks_a_page_has_no_order() {
    let line = |doc, clicked| ("ann", "", 0, 0, clicked, doc);
    let columns = LogColumns { ranks: false, ..ALL };
    let rules = EventRules::default();
    let (logs, _) =
        grouped(&[line("c", true), line("a", false), line("b", false)], columns, &rules);
    assert_eq!(logs[0].lists, [(0, 1, vec![(0, 0, false), (1, 0, false), (2, 0, true)])]);
}
