//! What stands out by its length. Never a failure: a reader judges.

use super::numbered;

/// Lines of a file without its tests, and of a function, above which it is noted.
const LONG_FILE: usize = 400;
const LONG_FUNCTION: usize = 60;

/// Notes about a file, given without comments and literals.
pub(super) fn check(path: &str, code: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let whole = code.lines().count();
    let length = numbered(code).find(|(_, line)| line.trim() == "#[cfg(test)]").map_or(whole, |(at, _)| at - 1);
    if length > LONG_FILE {
        notes.push(format!("{path}: {length} lines without its tests"));
    }
    let long = functions(code).into_iter().filter(|function| function.lines > LONG_FUNCTION);
    notes.extend(
        long.map(|function| format!("{path}:{}: {} has {} lines", function.line, function.name, function.lines)),
    );
    notes
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Functions as rustfmt lays them out: `fn` on a line, and the first line with as little indent that begins with `}`.
fn functions(code: &str) -> Vec<Function> {
    let lines: Vec<(usize, &str)> = numbered(code).collect();
    let mut functions = Vec::new();
    for (line, text) in &lines {
        let Some(name) = function_name(text) else { continue };
        let indent = text.len() - text.trim_start().len();
        let closes = |(_, later): &&(usize, &str)| {
            later.trim_start().starts_with('}') && later.len() - later.trim_start().len() == indent
        };
        if !text.trim_end().ends_with(['}', ';'])
            && let Some((end, _)) = lines.iter().skip(*line).find(closes)
        {
            functions.push(Function { name: name.to_owned(), line: *line, lines: end - line + 1 });
        }
    }
    functions
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_head = before.split_whitespace().all(|word| {
        word.starts_with("pub") || matches!(word, "async" | "const" | "unsafe" | "extern" | "in" | "crate)" | "super)")
    });
    is_head.then(|| after.split(['(', '<']).next().unwrap_or(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_functions_and_files_are_noted() {
        let function =
            |lines: usize| format!("    pub(crate) async fn f<T>(\n{}    }}\n", "        x;\n".repeat(lines - 2));
        assert_eq!(check("a.rs", &function(60)), Vec::<String>::new());
        assert_eq!(check("a.rs", &function(61)), ["a.rs:1: f has 61 lines"]);
        assert_eq!(check("a.rs", &"x;\n".repeat(401)), ["a.rs: 401 lines without its tests"]);
        assert_eq!(
            check("a.rs", &format!("{}#[cfg(test)]\n{}", "x;\n".repeat(399), "y;\n".repeat(99))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn only_heads_of_functions_count() {
        assert_eq!(functions("fn a();\nfn b() {}\nlet fn_ptr: fn (x);\nfn c() {\n}\n").len(), 1);
    }
}
