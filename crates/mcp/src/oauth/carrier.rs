//! Carries the requests of a login: over the client that everything else goes over, within bounds.

use crate::link::client::{builder, is_loopback};
use axum::http;
use reqwest::header::LOCATION;
use rmcp::transport::auth::{
    AuthError, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use std::time::Duration;

/// Most bytes of an answer.
const MOST: usize = 1 << 20;
/// Redirects within an origin that are followed in a row.
const REDIRECTS: usize = 5;
/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// An HTTP client for logins.
#[derive(Debug)]
pub(super) struct Carrier {
    http: reqwest::Client,
}

impl Carrier {
    pub(super) fn new(resource: &reqwest::Url) -> Result<Self, AuthError> {
        // A machine without roots can still log in at what it runs itself.
        let builder = builder(true).or_else(|_| builder(false));
        let mut builder = builder.map_err(|reason| AuthError::InternalError(reason.code().to_owned()))?;
        if is_loopback(resource) {
            builder = builder.no_proxy();
        }
        Ok(Self { http: builder.timeout(PATIENCE).build()? })
    }
}

impl OAuthHttpClient for Carrier {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let follows = matches!(request.redirect_policy, OAuthHttpRedirectPolicy::Follow)
                && request.request.method() == http::Method::GET;
            let (parts, body) = request.request.into_parts();
            let mut url = reqwest::Url::parse(&parts.uri.to_string())?;
            for _ in 0..=REDIRECTS {
                let sent =
                    self.http.request(parts.method.clone(), url.clone()).headers(parts.headers.clone());
                let mut response = sent.body(body.clone()).send().await?;
                if follows && response.status().is_redirection() {
                    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                    let to = url.join(location.unwrap_or_default())?;
                    if to.origin() != url.origin() {
                        return Err("a redirect to another origin is not followed".into());
                    }
                    url = to;
                    continue;
                }
                let mut answer = http::Response::builder().status(response.status());
                if let Some(headers) = answer.headers_mut() {
                    *headers = response.headers().clone();
                }
                let mut bytes = Vec::new();
                while let Some(chunk) = response.chunk().await? {
                    if bytes.len() + chunk.len() > MOST {
                        return Err("the answer is too long".into());
                    }
                    bytes.extend_from_slice(&chunk);
                }
                return Ok(answer.body(bytes)?);
            }
            Err("too many redirects".into())
        })
    }
}
