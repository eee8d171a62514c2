//! Paths by their text, without asking the file system.

use std::path::{Component, Path, PathBuf};

/// A path from the root, with `.` and `..` taken out of its text. Links are not followed: agents written in
/// JavaScript resolve paths that way, and so imports go where they go.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut out = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Where a path written in a file of `folder` leads: `~/` to the home, else below the folder.
pub(crate) fn resolve(written: &str, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match written.strip_prefix("~/") {
        Some(below) => home.map(|home| absolute(&home.join(below))),
        None => Some(absolute(&folder.join(written))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_taken_out() {
        for (path, expected) in
            [("/a/b/../c", "/a/c"), ("/a/./b//c/", "/a/b/c"), ("/../../a", "/a"), ("/a/b/../../..", "/")]
        {
            assert_eq!(absolute(Path::new(path)), Path::new(expected));
        }
    }

    #[test]
    fn a_tilde_leads_home() {
        let home = Path::new("/home/u");
        let to = |written, home| resolve(written, Path::new("/p/d"), home);
        assert_eq!(to("~/x/../y.md", Some(home)), Some(PathBuf::from("/home/u/y.md")));
        assert_eq!(to("~/x.md", None), None);
        assert_eq!(to("../x.md", None), Some(PathBuf::from("/p/x.md")));
        assert_eq!(to("/x.md", Some(home)), Some(PathBuf::from("/x.md")));
        assert_eq!(to("~x.md", Some(home)), Some(PathBuf::from("/p/d/~x.md")));
    }
}
