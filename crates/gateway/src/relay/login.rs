//! The token for a browser, which cannot be told to send a header: it is typed in once and kept as a cookie that no script
//! can read, for our own pages alone.

use super::config::Secret;
use super::guard::TOKEN_COOKIE;
use super::refuse::ANSWERED;
use super::tee::AnswerBody;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, LOCATION, SET_COOKIE,
};
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use std::time::Duration;

/// Where the token is typed in.
pub(crate) const PATH: &str = "/deadweight/login";
/// How large a form may be, in bytes.
const FORM: usize = 8_192;
/// How long one who guessed wrong waits.
const WRONG: Duration = Duration::from_millis(500);

/// Whether who asks is a person at a browser who wants a page.
pub(crate) fn wanted(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let html = headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    method == Method::GET && html && path.starts_with("/deadweight/")
}

/// The page where the token is typed in.
pub(crate) fn page(status: StatusCode) -> Response<AnswerBody> {
    let wrong =
        if status == StatusCode::FORBIDDEN { "<p role=alert><b>That is not the token.</b></p>" } else { "" };
    let text = format!(
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <meta name=color-scheme content=\"light dark\"><title>Token · deadweight</title><style>\
         body{{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;place-items:center;min-height:100vh}}\
         main{{max-width:26rem;padding:1.5rem}}h1{{font-size:1.3rem;margin:0 0 .5rem}}\
         input,button{{font:inherit;padding:.45rem .7rem;width:100%;box-sizing:border-box;margin-top:.35rem}}label{{display:block}}\
         </style></head><body><main><h1>This gateway has a token</h1>\
         <p>It is the one in <code>DEADWEIGHT_TOKEN</code> where the gateway was started.</p>{wrong}\
         <form method=post action=\"{PATH}\"><label>Token<input type=password name=token autocomplete=current-password required autofocus></label>\
         <button>Show the dashboard</button></form></main></body></html>"
    );
    let mut response = Response::new(AnswerBody::own(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    own(response)
}

/// Takes the token that was typed in.
pub(crate) async fn answer(token: &Secret, method: &Method, body: Incoming) -> Response<AnswerBody> {
    if method != Method::POST {
        return page(StatusCode::OK);
    }
    let given = match Limited::new(body, FORM).collect().await {
        Ok(body) => typed(&body.to_bytes()),
        Err(_) => None,
    };
    let cookie = given.filter(|given| token.is(given)).and_then(|given| cookie(&given));
    let Some(cookie) = cookie else {
        tokio::time::sleep(WRONG).await;
        return page(StatusCode::FORBIDDEN);
    };
    let mut response = Response::new(AnswerBody::own(bytes::Bytes::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/deadweight/"));
    response.headers_mut().insert(SET_COOKIE, cookie);
    own(response)
}

fn own(mut response: Response<AnswerBody>) -> Response<AnswerBody> {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(ANSWERED, HeaderValue::from_static("own"));
    response
}

/// The cookie; nothing for a token that cannot stand in one.
fn cookie(token: &[u8]) -> Option<HeaderValue> {
    let fits = token.iter().all(|byte| byte.is_ascii_graphic() && !b"\";,\\".contains(byte));
    let text = std::str::from_utf8(token).ok().filter(|_| fits)?;
    let mut value =
        HeaderValue::from_str(&format!("{TOKEN_COOKIE}={text}; Path=/; HttpOnly; SameSite=Strict")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The token of a form.
fn typed(form: &[u8]) -> Option<Vec<u8>> {
    let value = form.split(|byte| *byte == b'&').find_map(|pair| pair.strip_prefix(b"token="))?;
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value.iter().copied();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
        out.push(match byte {
            b'%' => u8::try_from(digit()? * 16 + digit()?).ok()?,
            b'+' => b' ',
            byte => byte,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        assert_eq!(typed(b"a=b&token=x%21%2f+y").as_deref(), Some(&b"x!/ y"[..]));
        for form in [&b"token=%zz"[..], b"token=%2", b"tok=x", b""] {
            assert_eq!(typed(form), None);
        }
    }

    #[test]
    fn a_cookie_holds_nothing_but_the_token() {
        assert!(
            cookie(b"hunter22")
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("deadweight_token=hunter22; Path=/; HttpOnly")
        );
        for token in [&b"a;b"[..], b"a b", b"a\nb", "ü".as_bytes()] {
            assert_eq!(cookie(token), None);
        }
    }
}
