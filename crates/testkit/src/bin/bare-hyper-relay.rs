//! The least that a reverse proxy on hyper can do: it hands requests to one address and answers back, and looks at
//! nothing. `bare-hyper-relay http://127.0.0.1:PORT` prints where it listens.

use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io::{self, Write};
use tokio::net::TcpListener;

type Http = Client<HttpConnector, Incoming>;

fn main() -> io::Result<()> {
    let upstream = std::env::args().nth(1).ok_or_else(|| io::Error::other("no upstream"))?;
    let upstream = upstream.trim_end_matches('/').to_owned();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(relay(upstream))
}

async fn relay(upstream: String) -> io::Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Http = Client::builder(TokioExecutor::new()).build(connector);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = io::stdout();
    writeln!(out, "http://{}", listener.local_addr()?)?;
    out.flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (client, upstream) = (client.clone(), upstream.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| pass(client.clone(), &upstream, request));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Hands a request on.
fn pass(
    client: Http,
    upstream: &str,
    mut request: Request<Incoming>,
) -> impl Future<Output = Result<hyper::Response<Incoming>, io::Error>> + use<> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let uri: Result<Uri, _> = format!("{upstream}{path}").parse();
    async move {
        *request.uri_mut() = uri.map_err(io::Error::other)?;
        request.headers_mut().remove(HOST);
        client.request(request).await.map_err(io::Error::other)
    }
}
