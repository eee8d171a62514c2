use super::*;
use crate::listing::Options;
use crate::spec::{ServerSpec, Transport};
use deadweight_testkit::authorization::{Authorization, Rules, get};

fn spec(server: &Authorization) -> ServerSpec {
    ServerSpec::http(server.url(), [])
}

fn bearer(server: &Authorization, file: &Path) -> Bearer {
    let Transport::Http { url, headers } = &spec(server).transport else { unreachable!() };
    Bearer::of(&Client::new(url, headers, &Options::default()).unwrap(), Some(file)).unwrap()
}

/// Logs in; the person says what the server lets it say.
async fn log_in(server: &Authorization, file: &Path) -> Result<LoggedIn, LoginError> {
    let options = LoginOptions { patience: Duration::from_secs(20), ..LoginOptions::in_file(file) };
    let opener = |url: &str| {
        let url = url.to_owned();
        std::thread::spawn(move || Authorization::browse(&url));
    };
    login(&spec(server), &options, opener).await
}

fn text(value: Option<HeaderValue>) -> Option<String> {
    value.map(|value| value.to_str().unwrap().to_owned())
}

async fn current(server: &Authorization) -> Option<String> {
    server.token().map(|token| format!("Bearer {token}"))
}

#[tokio::test]
async fn a_login_is_found_made_stored_and_used() {
    for rules in [
        Rules::default(),
        Rules { openid: true, ..Rules::default() },
        Rules { secret: true, ..Rules::default() },
    ] {
        let server = Authorization::start(rules).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data").join("logins.json");
        let bearer = bearer(&server, &file);
        assert_eq!(bearer.value().await, None);
        let logged_in = log_in(&server, &file).await.unwrap();
        assert_eq!(logged_in.resource, server.url());
        assert_eq!(logged_in.issuer.unwrap(), server.url().trim_end_matches("/mcp"));
        assert_eq!(logged_in.scopes, ["tools"]);
        assert_eq!(server.problems(), Vec::<String>::new());
        // A proxy that runs already finds it when it is refused.
        assert_eq!(text(bearer.renewed(None).await), current(&server).await);
        assert_eq!(text(bearer.value().await), current(&server).await);
        // Refused before its time, it is renewed once, however many ask.
        server.revoke(false);
        let refused = bearer.value().await;
        let (one, other) = tokio::join!(bearer.renewed(refused.as_ref()), bearer.renewed(refused.as_ref()));
        assert!(one.is_some() && one != refused);
        assert_eq!((text(one.clone()), one), (current(&server).await, other));
        assert_eq!((server.refreshed(), server.problems()), (1, Vec::new()));
        // Refused for good, there is none.
        server.revoke(true);
        let refused = bearer.value().await;
        assert_eq!(bearer.renewed(refused.as_ref()).await, None);
        assert_eq!(server.refreshed(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        }
        assert!(!format!("{bearer:?}").contains("access-"), "{bearer:?}");
    }
}

#[tokio::test]
async fn tokens_are_renewed_before_their_end_and_once_for_all_processes() {
    // By its own word the token has no second left.
    let server = Authorization::start(Rules { lifetime: 1, ..Rules::default() }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logins.json");
    log_in(&server, &file).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let one = bearer(&server, &file);
    assert_eq!(text(one.value().await), current(&server).await);
    assert_eq!(server.refreshed(), 1);

    let server = Authorization::start(Rules::default()).unwrap();
    let file = folder.path().join("others.json");
    log_in(&server, &file).await.unwrap();
    let all: Vec<Bearer> = (0..8).map(|_| bearer(&server, &file)).collect();
    for bearer in &all {
        bearer.value().await.unwrap();
    }
    server.revoke(false);
    let renew = |bearer: Bearer| async move {
        let refused = bearer.value().await;
        bearer.renewed(refused.as_ref()).await
    };
    let mut renewals = tokio::task::JoinSet::new();
    all.into_iter().for_each(|bearer| drop(renewals.spawn(renew(bearer))));
    while let Some(value) = renewals.join_next().await {
        assert_eq!(text(value.unwrap()), current(&server).await);
    }
    assert_eq!((server.refreshed(), server.problems()), (1, Vec::new()));
}

#[tokio::test]
async fn who_comes_back_with_another_state_is_sent_away() {
    let server = Authorization::start(Rules::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options =
        LoginOptions { patience: Duration::from_secs(20), ..LoginOptions::in_file(folder.path().join("l")) };
    let opener = |url: &str| {
        let url = url.to_owned();
        std::thread::spawn(move || {
            let redirect = reqwest::Url::parse(&url).unwrap();
            let redirect =
                redirect.query_pairs().find(|(key, _)| key == "redirect_uri").unwrap().1.into_owned();
            for forged in ["?code=x&state=forged", "?code=x", "?error=no&state=forged"] {
                assert!(get(&format!("{redirect}{forged}")).unwrap().starts_with("HTTP/1.1 400"));
            }
            assert!(Authorization::browse(&url).unwrap().contains("You are logged in"));
        });
    };
    login(&spec(&server), &options, opener).await.unwrap();
}

#[tokio::test]
async fn logins_that_do_not_come_about_say_why_and_store_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logins.json");
    let server = Authorization::start(Rules { denies: true, ..Rules::default() }).unwrap();
    let refused = LoginError::Refused { detail: "access_denied: hunter2".to_owned() };
    assert_eq!(log_in(&server, &file).await, Err(refused));
    let short = LoginOptions { patience: Duration::from_millis(50), ..LoginOptions::in_file(&file) };
    assert_eq!(
        login(&spec(&server), &short, |_| ()).await,
        Err(LoginError::TimedOut { patience: Duration::from_millis(50) })
    );
    let process = ServerSpec::stdio("cat", [""; 0]);
    assert_eq!(login(&process, &short, |_| ()).await, Err(LoginError::NotHttp));
    let own = ServerSpec::http(server.url(), [("Authorization".to_owned(), "Bearer x".to_owned())]);
    assert_eq!(login(&own, &short, |_| ()).await, Err(LoginError::HasCredentials));
    let nowhere =
        deadweight_testkit::raw_http::RawHttp::start(|_, answer| answer.whole(404, &[], b"")).unwrap();
    let error = login(&ServerSpec::http(nowhere.at("/mcp"), []), &short, |_| ()).await.unwrap_err();
    assert!(matches!(error, LoginError::NotRegistered { .. } | LoginError::NoServer { .. }), "{error}");
    assert!(!file.exists());
    // What is not understood is not overwritten.
    std::fs::write(&file, "{\"version\":2}").unwrap();
    let server = Authorization::start(Rules::default()).unwrap();
    let error = log_in(&server, &file).await.unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"version\":2}");
}

#[tokio::test]
async fn the_link_sends_the_login_and_renews_it() {
    use crate::relay::port::{Event, Kind, Outbound};
    let server = Authorization::start(Rules::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logins.json");
    log_in(&server, &file).await.unwrap();
    server.revoke(false);
    let options = Options { logins: Some(Box::leak(file.into_boxed_path())), ..Options::default() };
    let (sender, mut reports) = tokio::sync::mpsc::channel(8);
    let link = crate::upstream::open(&spec(&server), &options, 0, 0, sender).unwrap();
    let mut ask = async || {
        link.send(Outbound {
            bytes: r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.into(),
            kind: Kind::Request { id: "1".into(), method: "tools/list".to_owned() },
            about: None,
            modern: false,
            version: None,
            headers: Vec::new(),
        });
        reports.recv().await.unwrap().event
    };
    assert!(matches!(ask().await, Event::Message { status: Some(200), .. }));
    assert_eq!(server.refreshed(), 1);
    server.revoke(true);
    let refused = format!("{:?}", ask().await);
    assert!(refused.contains("LoginNeeded") && refused.contains("credentials_sent: true"), "{refused}");
}
