//! Rules for every text file.

use super::{Finding, numbered};

/// Files that programs write and that are kept as they come.
const GENERATED: [&str; 3] = ["Cargo.lock", ".snap", ".proptest-regressions"];

/// Paths of one machine, in pieces so that this file does not hold what it looks for.
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Hosts of package registries: which registry or mirror is used is each machine's own configuration.
const REGISTRY_HOSTS: [&str; 6] = [
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("pypi", ".org"),
    concat!("files.python", "hosted.org"),
    concat!("registry.npm", "js.org"),
    concat!("deb.debian", ".org"),
];

/// Applies the rules to a file.
pub(super) fn check(path: &str, content: &str) -> Vec<Finding> {
    if GENERATED.iter().any(|name| path.ends_with(name)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in numbered(content) {
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(Finding::new(path, number, "white space ends the line: take it away"));
        }
        for word in MACHINE_PATHS.iter().filter(|word| begins_a_path(line, word)) {
            let message = format!("{word:?} is a path of one machine: make it relative or a parameter");
            findings.push(Finding::new(path, number, message));
        }
        for host in REGISTRY_HOSTS.iter().filter(|host| line.contains(**host)) {
            let message = format!("{host:?} is a registry's host: leave it to the machine's configuration");
            findings.push(Finding::new(path, number, message));
        }
    }
    findings
}

/// Whether `path` stands in the line as the beginning of an absolute path, not inside a longer one.
fn begins_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, content: &str) -> Vec<usize> {
        check(path, content).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn white_space_at_the_end_of_a_line_is_found() {
        assert_eq!(lines("a.md", "a \nb\t\nc\r\nd\n"), [1, 2, 3]);
        assert_eq!(lines("tests/a.snap", "a \n"), []);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        let [work, root] = MACHINE_PATHS;
        assert_eq!(lines("a.md", &format!("see {work}x\n`{root}.cargo`\n")), [1, 2]);
        assert_eq!(lines("a.md", &format!("see ~{work}x\n/home/me{work}x\n$HOME}}{work}\n")), []);
    }

    #[test]
    fn a_host_of_a_registry_is_found() {
        for host in REGISTRY_HOSTS {
            assert_eq!(lines("a.toml", &format!("url = \"https://{host}/x\"\n")), [1]);
        }
        assert_eq!(lines("a.md", "published on crates.io and PyPI\n"), []);
    }
}
