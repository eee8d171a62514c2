//! What holds of every index and every request.

use deadweight_search::{Argument, Index, Tool};
use proptest::collection::vec;
use proptest::prelude::*;

const WORDS: [&str; 24] = [
    "read",
    "file",
    "send",
    "message",
    "weather",
    "forecast",
    "list",
    "delete",
    "user",
    "getStock",
    "price",
    "YouTube",
    "video",
    "search",
    "the",
    "of",
    "прогноз",
    "погоды",
    "天气",
    "预报",
    "reading",
    "files",
    "folder",
    "a",
];

fn words(most: usize) -> impl Strategy<Value = String> {
    vec(prop::sample::select(&WORDS[..]), 0..most).prop_map(|words| words.join(" "))
}

/// Words mostly, and now and then anything.
fn text(most: usize) -> impl Strategy<Value = String> {
    prop_oneof![6 => words(most), 1 => any::<String>()]
}

prop_compose! {
    fn tool()(
        number in 0..12_u8,
        server in 0..4_u8,
        name in text(4),
        description in text(12),
        arguments in vec((text(2), text(5)), 0..3),
    ) -> Tool {
        Tool {
            id: format!("id{number}"),
            server: format!("server {server}"),
            name,
            description,
            arguments: arguments.into_iter().map(|(name, description)| Argument { name, description }).collect(),
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add(Tool),
    Replace(u8, Vec<Tool>),
    Remove(u8),
    Forget(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => tool().prop_map(Step::Add),
        1 => (0..4_u8, vec(tool(), 0..4)).prop_map(|(server, tools)| Step::Replace(server, tools)),
        2 => (0..12_u8).prop_map(Step::Remove),
        1 => (0..4_u8).prop_map(Step::Forget),
    ]
}

/// Does the steps on an index, and on a plain list of what should then be in it.
fn play(steps: &[Step]) -> (Index, Vec<Tool>) {
    let mut index = Index::new();
    let mut held: Vec<Tool> = Vec::new();
    let put = |held: &mut Vec<Tool>, tool: &Tool| {
        held.retain(|other| other.id != tool.id);
        held.push(tool.clone());
    };
    for step in steps {
        match step {
            Step::Add(tool) => {
                index.add(tool);
                put(&mut held, tool);
            }
            Step::Replace(server, tools) => {
                let server = format!("server {server}");
                let tools: Vec<Tool> =
                    tools.iter().map(|tool| Tool { server: server.clone(), ..tool.clone() }).collect();
                index.replace(&server, &tools);
                held.retain(|tool| tool.server != server);
                tools.iter().for_each(|tool| put(&mut held, tool));
            }
            Step::Remove(number) => {
                let id = format!("id{number}");
                assert_eq!(index.remove(&id), held.iter().any(|tool| tool.id == id));
                held.retain(|tool| tool.id != id);
            }
            Step::Forget(server) => {
                let server = format!("server {server}");
                assert_eq!(index.forget(&server), held.iter().filter(|tool| tool.server == server).count());
                held.retain(|tool| tool.server != server);
            }
        }
    }
    (index, held)
}

fn built<'t>(tools: impl IntoIterator<Item = &'t Tool>) -> Index {
    let mut index = Index::new();
    tools.into_iter().for_each(|tool| index.add(tool));
    index
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Added, replaced and removed in any order, it answers like one built anew, and never with what is gone.
    #[test]
    fn changed_in_place_is_built_anew(steps in vec(step(), 0..40), request in text(20), limit in 0..15_usize) {
        let (index, held) = play(&steps);
        prop_assert_eq!(index.len(), held.len());
        let answer = index.search(&request, limit);
        prop_assert_eq!(&answer, &built(&held).search(&request, limit));
        prop_assert_eq!(&answer, &built(held.iter().rev()).search(&request, limit));
        prop_assert_eq!(&answer, &index.search(&request, limit));
        prop_assert!(answer.hits.len() <= limit);
        for hit in &answer.hits {
            prop_assert!(held.iter().any(|tool| tool.id == hit.id));
            prop_assert!(hit.score.is_finite());
        }
        prop_assert!((0.0..=1.0).contains(&answer.confidence));
    }

    /// Everything is text that can be searched and searched for.
    #[test]
    fn no_text_is_too_strange(
        parts in vec(any::<String>(), 5),
        request in prop_oneof![any::<String>(), "[\\PC]{0,200}", "[A-Za-z0-9àßŁ中가ก。 .,;?_-]{0,300}"],
    ) {
        let mut index = Index::new();
        index.add(&Tool {
            id: "strange".to_owned(),
            server: parts[0].clone(),
            name: parts[1].clone(),
            description: request.clone(),
            arguments: vec![Argument { name: parts[3].clone(), description: parts[4].clone() }],
        });
        let answer = index.search(&request, 3);
        prop_assert!(answer.confidence.is_finite());
        for hit in answer.hits {
            prop_assert!(hit.score.is_finite());
        }
        let _ = index.near(&request, 3);
        prop_assert_eq!(index.forget(&parts[0]), 1);
        prop_assert!(index.search(&request, 3).hits.is_empty());
    }

    /// A tool is found by its own name.
    #[test]
    fn a_tool_is_found_by_its_name(
        tools in vec(tool(), 0..12),
        mut named in tool(),
        name in vec(prop::sample::select(&WORDS[..]), 1..4),
    ) {
        named.name = name.join("_");
        let index = built(tools.iter().chain([&named]));
        let answer = index.search(&named.name, 13);
        prop_assert!(answer.hits.iter().any(|hit| hit.id == named.id), "{:?} {:?}", named, answer);
    }
}
