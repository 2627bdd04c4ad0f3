//! The README's tool table is what the binary prints.

use std::fs;

use anyhow::{Context, Result};

use super::{Finding, numbered};
use crate::workspace;

const README: &str = "README.md";
const BEGIN: &str = "<!-- tools:begin -->";
const END: &str = "<!-- tools:end -->";
const PRINT: &str = "cargo run -p sessiond-mcp-stdio -- tools --markdown";

/// Builds the binary, asks it for its table, and compares.
pub(super) fn check_tree() -> Result<Option<Finding>> {
    let readme = fs::read_to_string(workspace::root().join(README)).context("reading README.md")?;
    let args = ["run", "--quiet", "--locked", "--package", "sessiond-mcp-stdio", "--", "tools", "--markdown"];
    let table = workspace::output(workspace::cargo().args(args)).context("asking the binary for its tool table")?;
    Ok(check(&readme, &table))
}

fn check(readme: &str, table: &str) -> Option<Finding> {
    let begin = numbered(readme).find(|(_, line)| *line == BEGIN).map(|(at, _)| at);
    let between = readme.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(between, _)| between);
    let (Some(begin), Some(between)) = (begin, between) else {
        let message = format!("there is no tool table: put the output of `{PRINT}` between {BEGIN} and {END}");
        return Some(Finding::new(README, 1, message));
    };
    (between.trim() != table.trim()).then(|| {
        Finding::new(README, begin, format!("the tool table is out of date: replace it by the output of `{PRINT}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_missing_or_differs_is_found() {
        let readme = format!("# x\n{BEGIN}\n\n| a |\n\n{END}\n");
        assert_eq!(check(&readme, "| a |\n"), None);
        assert_eq!(check(&readme, "| b |\n").map(|finding| finding.line), Some(2));
        assert_eq!(check("# x\n", "| a |\n").map(|finding| finding.line), Some(1));
        assert_eq!(check(&format!("{BEGIN}\n| a |\n"), "| a |\n").map(|finding| finding.line), Some(1));
    }
}
