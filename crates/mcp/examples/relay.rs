//! tmp
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let spec = deadweight_mcp::ServerSpec::stdio(args[0].clone(), args[1..].to_vec());
    let serve = deadweight_mcp::Serve { specs: vec![spec], labels: vec!["s".into()], aggregate: std::env::var("AGG").is_ok(), settings: Default::default(), lock: None, cache: None, options: Default::default(),
      on_called: std::sync::Arc::new(|c| eprintln!("called {c:?}")), on_note: std::sync::Arc::new(|n| eprintln!("note {n}")) };
    rt.block_on(deadweight_mcp::serve_stdio(serve)).unwrap();
}
