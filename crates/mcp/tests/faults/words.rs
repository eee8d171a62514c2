//! What is said about a failure, word for word, and what is not said.

use crate::support::{patient, script, spec};
use deadweight_mcp::{Anomaly, Origin, ServerSpec, Text, Transport, list, no_progress};
use deadweight_testkit::scripted_mcp::Act;

const SECRET: &str = "hunter2hunter2";

fn secretive(script: &deadweight_testkit::scripted_mcp::Script) -> ServerSpec {
    let mut spec = spec(script).named("github");
    if let Transport::Stdio { args, env, .. } = &mut spec.transport {
        args.push(Text::shown_as(format!("--user={SECRET}"), "--user=${WHO}"));
        args.push(Text::plain("--api-key"));
        env.push(("SECRET_WORD".into(), Text::secret(SECRET)));
    }
    spec.origin = Some(Origin { file: ".mcp.json".into(), line: 7 });
    spec
}

#[tokio::test]
async fn secrets_are_never_printed() {
    let acts = [
        Act::Stdout(format!("user {SECRET}")),
        Act::StderrEnv("SECRET_WORD".into()),
        Act::Stderr("Error: GITHUB_TOKEN is required".into()),
        Act::Exit(1),
    ];
    let spec = secretive(&script("secretive").on("start", acts));
    let error = list(&spec, &patient(), &no_progress).await.unwrap_err();
    let text = format!("{}\n{error:?}\n{spec}\n{spec:?}", error.explain());
    // The script holds the word in the clear, as a plain argument; everything else must not.
    let text = text.replace(&format!("user {SECRET}"), "");
    assert!(!text.contains(SECRET), "{text}");
    assert_eq!(error.stderr, ["…", "Error: GITHUB_TOKEN is required"]);
    assert!(text.contains("--user=${WHO}"), "{text}");
    assert!(
        text.contains(r#"set it in the environment, or in the server's "env" in .mcp.json (line 7)"#),
        "{text}"
    );
}

#[tokio::test]
async fn secrets_that_come_back_in_other_words_are_never_printed() {
    let refusal = Act::Error { code: -32000, message: format!("bad key {SECRET}") };
    let spec = secretive(&script("echoing").on("initialize", [refusal]));
    let error = list(&spec, &patient(), &no_progress).await.unwrap_err();
    assert_eq!(error.to_string(), "the server `github` answered `initialize` with error -32000: bad key …");
    // On standard output, of a server that works.
    let spec = secretive(&script("talking").tool("a").on("start", [Act::Stdout(format!("user {SECRET}"))]));
    let listing = list(&spec, &patient(), &no_progress).await.unwrap();
    assert_eq!(listing.anomalies, [Anomaly::StdoutNoise { lines: 1, sample: "user …".to_owned() }]);
}

#[tokio::test]
async fn what_a_server_says_about_itself_carries_no_secret_out() {
    let mut script = script("impostor").tool("a");
    script.version = Some(format!("1 {SECRET}"));
    script.protocol_version = Some(format!("2025 {SECRET}"));
    let asks = [Act::Ask {
        method: SECRET.into(),
        reply: serde_json::json!({"code": -32601, "message": "Method not found"}),
    }];
    script.name = format!("{} {SECRET}", script.name);
    let mut spec = secretive(&script.on("tools/list", asks));
    spec.label = None;
    let listing = list(&spec, &patient(), &no_progress).await.unwrap();
    assert_eq!(listing.tools.len(), 1);
    assert!(listing.label.ends_with(" …"), "{}", listing.label);
    assert_eq!((listing.protocol_version.as_str(), listing.anomalies.len()), ("2025 …", 2));
    let told = deadweight_mcp::Listing { tools: Vec::new(), ..listing };
    assert!(!format!("{told:?}").contains(SECRET), "{told:?}");
}

#[tokio::test]
async fn a_text_that_is_cut_within_a_secret_shows_no_part_of_it() {
    for before in 280..300 {
        let message = format!("{} {SECRET}", "x".repeat(before));
        let refusal = Act::Error { code: -32000, message };
        let spec = secretive(&script("cut").on("initialize", [refusal]));
        let error = list(&spec, &patient(), &no_progress).await.unwrap_err();
        assert!(error.to_string().ends_with("x …") || error.to_string().ends_with("x…"), "{error}");
    }
}
