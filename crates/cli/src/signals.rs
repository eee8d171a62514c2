//! Signals that would end the command where an error says enough.

/// Lets a file that may not grow any more (`ulimit -f`) be an error of whoever writes it, as a full disk is one: the
/// signal that the system sends besides is caught. Programs that are started have it as it was.
pub(crate) fn catch() {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        let _within = runtime.enter();
        // It stays caught when nobody listens any more.
        let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
    }
}
