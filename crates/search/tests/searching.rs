//! What a search finds, and why.

#![allow(clippy::float_cmp, reason = "scores that must be the same are the same to the bit")]

use deadweight_search::{Answer, Argument, Field, Index, Second, Tool};

fn tool(server: &str, name: &str, description: &str, arguments: &[(&str, &str)]) -> Tool {
    Tool {
        id: format!("{server}:{name}"),
        server: server.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        arguments: arguments
            .iter()
            .map(|(name, description)| Argument {
                name: (*name).to_owned(),
                description: (*description).to_owned(),
            })
            .collect(),
    }
}

fn office() -> Index {
    let mut index = Index::new();
    for tool in [
        tool("files", "readFile", "Returns the contents of a file.", &[("path", "Where the file lies")]),
        tool("files", "list_directory", "Lists what a folder holds.", &[("path", "Where the folder lies")]),
        tool("mail", "send-message", "Sends a letter to an address.", &[("recipient", "Who gets it")]),
        tool("mail", "search_inbox", "Finds letters by their words.", &[("words", "")]),
        tool("hackernews", "getStories", "The stories of the day.", &[]),
        tool("погода", "прогноз", "Возвращает прогноз погоды для города.", &[("город", "Название города")]),
        tool("地图", "路线规划", "规划两个地点之间的路线。", &[("起点", "")]),
        tool("images", "generate_picture", "Draws what is described.", &[("prompt", "What to draw")]),
        tool(
            "bank",
            "listTransactionsByIBAN",
            "Transactions of an account.",
            &[("iban", "The account's number")],
        ),
    ] {
        index.add(&tool);
    }
    index
}

#[track_caller]
fn first(request: &str) -> String {
    office().search(request, 3).hits.first().map(|hit| hit.id.clone()).unwrap_or_default()
}

#[test]
fn names_are_split_at_case_and_separators() {
    assert_eq!(first("read a file"), "files:readFile");
    assert_eq!(first("send message"), "mail:send-message");
    assert_eq!(first("transactions for this iban"), "bank:listTransactionsByIBAN");
}

#[test]
fn words_are_found_by_their_stems() {
    assert_eq!(first("listing directories"), "files:list_directory");
    assert_eq!(first("drawing"), "images:generate_picture");
}

#[test]
fn a_word_finds_another_for_the_same() {
    assert_eq!(first("make an image"), "images:generate_picture");
    assert_eq!(first("folder"), "files:list_directory");
}

#[test]
fn cyrillic_is_found_in_every_case_and_chinese_by_two_characters() {
    assert_eq!(first("Какая погода в городе?"), "погода:прогноз");
    assert_eq!(first("прогнозы"), "погода:прогноз");
    assert_eq!(first("帮我规划路线"), "地图:路线规划");
    assert_eq!(first("起点"), "地图:路线规划");
}

#[test]
fn misspelt_joined_and_parted_words_are_understood() {
    assert_eq!(first("transactoins"), "bank:listTransactionsByIBAN");
    assert_eq!(first("hacker news"), "hackernews:getStories");
    assert_eq!(first("readfile"), "files:readFile");
    assert_eq!(first("inboxwords"), "mail:search_inbox");
}

#[test]
fn full_width_and_accented_letters_are_the_plain_ones() {
    assert_eq!(first("ＩＢＡＮ"), "bank:listTransactionsByIBAN");
    assert_eq!(first("tránsactions"), "bank:listTransactionsByIBAN");
}

#[test]
fn an_argument_speaks_for_its_tool() {
    let answer = office().search("recipient", 3);
    assert_eq!(answer.hits[0].id, "mail:send-message");
    assert_eq!(answer.hits[0].reasons[0].field, Field::ArgumentName);
}

#[test]
fn reasons_name_word_term_and_field_and_add_up() {
    let answer = office().search("Please show me the directories, as pictures", 5);
    let hit = answer.hits.iter().find(|hit| hit.id == "files:list_directory").unwrap();
    let reason = &hit.reasons[0];
    assert_eq!(
        (reason.word.as_str(), reason.term.as_str(), reason.field),
        ("directories", "directori", Field::Name)
    );
    for hit in &answer.hits {
        let parts: f32 = hit.reasons.iter().map(|reason| reason.part).sum();
        assert!((parts - 1.0).abs() < 1e-4, "{parts}");
        assert!(hit.reasons.windows(2).all(|two| two[0].part >= two[1].part));
    }
}

#[test]
fn a_long_request_is_split_into_its_intents_and_all_of_them_are_answered() {
    let request = "I have a report. Read the file with the figures, generate a picture of them and send the message \
                   to my boss; also, list transactions by IBAN.";
    let answer = office().search(request, 4);
    let intents = [
        "report",
        "Read the file with the figures",
        "generate a picture",
        "send the message to my boss",
        "list transactions by IBAN",
    ];
    assert_eq!(answer.intents, intents);
    let mut found: Vec<&str> = answer.hits.iter().map(|hit| hit.id.as_str()).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        ["bank:listTransactionsByIBAN", "files:readFile", "images:generate_picture", "mail:send-message"]
    );
}

#[test]
fn a_short_request_is_one_intent() {
    assert_eq!(office().search("insert, update, or delete", 3).intents.len(), 1);
    assert_eq!(office().search("copy and paste", 3).intents, ["copy and paste"]);
}

#[test]
fn what_a_catalogue_does_not_hold_is_answered_with_less_confidence() {
    let index = office();
    let here = [
        "read the contents of a file",
        "send a letter to an address",
        "generate a picture",
        "прогноз погоды",
    ];
    let elsewhere = [
        "book a table in a restaurant nearby",
        "restart the virtual machine",
        "translate this poem into Greek",
    ];
    let least = here.map(|request| index.search(request, 3).confidence).into_iter().fold(1.0, f32::min);
    let most = elsewhere.map(|request| index.search(request, 3).confidence).into_iter().fold(0.0, f32::max);
    assert!(least > most, "{least} {most}");
    assert!(most < Answer::LEAST, "{most}");
    assert!(here.iter().all(|request| !index.search(request, 3).abstains()));
}

#[test]
fn without_a_known_word_there_is_nothing_and_it_abstains() {
    for request in ["", "   ", "?!", "qqqqq zzzzz", "\u{0}\u{1f}", "🦀🦀"] {
        let answer = office().search(request, 5);
        assert!(answer.hits.is_empty() && answer.abstains(), "{request:?}: {answer:?}");
    }
    assert!(Index::new().search("anything", 5).hits.is_empty());
    assert!(office().search("read a file", 0).hits.is_empty());
}

#[test]
fn words_that_say_nothing_find_the_tool_that_is_called_so() {
    assert!(office().search("what is all this", 5).hits.is_empty());
    let mut index = office();
    index.add(&tool("unix", "who", "Users that are logged in.", &[]));
    assert_eq!(index.search("who", 5).hits[0].id, "unix:who");
}

#[test]
fn near_names_are_suggested() {
    let index = office();
    let near =
        |name: &str| index.near(name, 2).into_iter().map(|near| (near.id, near.distance)).collect::<Vec<_>>();
    assert_eq!(near("raedFile"), [("files:readFile".to_owned(), 1)]);
    assert_eq!(near("read_file"), [("files:readFile".to_owned(), 0)]);
    assert_eq!(near("file_read"), [("files:readFile".to_owned(), 0)]);
    assert_eq!(near("mcp__files__list_directory"), [("files:list_directory".to_owned(), 0)]);
    assert_eq!(near("teleport"), []);
    assert_eq!(near(""), []);
    assert_eq!(index.search("serch_inbox", 2).did_you_mean[0].id, "mail:search_inbox");
    assert!(index.search("serch the inbox", 2).did_you_mean.is_empty());
}

#[test]
fn a_second_opinion_is_mixed_in() {
    let index = office();
    let alone = index.search("read a file", 3);
    let ids = ["images:generate_picture", "files:readFile", "mail:search_inbox", "gone"];
    let fits = [0.9, 0.9, 0.2, 0.2, 0.1, 0.1, 5.0, 5.0];
    assert_eq!(index.parts(" read a file "), ["read a file", "read a file"]);
    let with =
        |share: f32| index.search_with("read a file", 3, Some(&Second { ids: &ids, fits: &fits, share }));
    assert_eq!(with(0.0).hits[0], alone.hits[0]);
    assert_eq!(with(1.0).hits[0].id, "images:generate_picture");
    assert!(with(1.0).hits[0].reasons.is_empty());
    assert_eq!(with(0.3).hits[0].id, "files:readFile");
    assert!(with(0.3).hits.iter().any(|hit| hit.id == "images:generate_picture"));
}

#[test]
fn a_second_opinion_without_sense_changes_nothing_or_harms_nobody() {
    let index = office();
    let alone = index.search("read a file", 3);
    let ids = ["files:readFile", "mail:search_inbox"];
    for (ids, fits) in [(&ids[..], &[][..]), (&[], &[0.5]), (&["gone"], &[0.5]), (&ids, &[0.5])] {
        assert_eq!(index.search_with("read a file", 3, Some(&Second { ids, fits, share: 0.5 })), alone);
    }
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN] {
        for share in [0.5, odd] {
            let answer =
                index.search_with("read a file", 3, Some(&Second { ids: &ids, fits: &[odd, 0.3], share }));
            assert!(
                answer.confidence.is_finite() && answer.hits.iter().all(|hit| !hit.score.is_nan()),
                "{odd}"
            );
        }
    }
}

#[test]
fn each_intent_has_its_own_opinion() {
    let index = office();
    let request = "Read a file. Then draw me a picture of it";
    assert_eq!(index.parts(request).len(), 3);
    let ids = ["images:generate_picture", "mail:search_inbox", "files:readFile"];
    // As a whole nothing fits, but each intent has its tool.
    let fits = [0.1, 0.0, 0.8, 0.1, 0.0, 0.0, 0.1, 0.8, 0.0];
    let hits = index.search_with(request, 2, Some(&Second { ids: &ids, fits: &fits, share: 1.0 })).hits;
    let found: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(found, ["files:readFile", "images:generate_picture"]);
}

#[test]
fn a_model_of_meaning_reads_names_as_words() {
    let tool = tool("fileServer", "read_file", "Reads it. All of it.", &[("maxBytes", "how much")]);
    assert_eq!(
        tool.texts(),
        ["read file: Reads it", "file Server read file: Reads it. All of it. max Bytes"]
    );
}

#[test]
fn a_server_whose_list_changed_is_replaced_as_a_whole() {
    let mut index = office();
    let count = index.len();
    index.replace("mail", &[tool("mail", "archive_letters", "Puts letters away.", &[])]);
    assert_eq!(index.len(), count - 1);
    assert!(!index.contains("mail:send-message"));
    let hits = index.search("send letters", 9).hits;
    assert!(
        hits.iter().all(|hit| !["mail:send-message", "mail:search_inbox"].contains(&hit.id.as_str())),
        "{hits:?}"
    );
    assert_eq!(hits[0].id, "mail:archive_letters");
    assert_eq!(index.forget("mail"), 1);
    assert_eq!(index.forget("mail"), 0);
    assert!(index.search("letters", 9).hits.is_empty());
}

#[test]
fn a_tool_with_a_known_id_takes_its_place() {
    let mut index = office();
    let count = index.len();
    let mut changed = tool("files", "readFile", "Plays a song.", &[]);
    changed.name = "play".to_owned();
    index.add(&changed);
    assert_eq!(index.len(), count);
    assert_eq!(index.search("song", 1).hits[0].id, "files:readFile");
    assert!(index.search("contents", 1).hits.is_empty());
}
