//! How a process is launched: the line for the login shell, and what `sh` does before it becomes the command's shell.

use sessiond_core::{Error, Invocation, Mark, Result, shown};

use super::quote;

/// The longest single argument or variable that Linux hands to a program, with the byte that ends it
/// (`MAX_ARG_STRLEN`, execve(2)).
const LONGEST_STRING: usize = 131_072;

/// Reads one line, not a byte more, and does what it says. The rest of the input is the command's.
const READ_AND_DO: &str = "exec sh -c 'IFS= read -r SESSIOND_SESSION;eval \"$SESSIOND_SESSION\"'";

/// The account's own shell where it is one that understands what is written for `sh`; else the system's.
const CHOOSE_SHELL: &str = "set -- \"$SHELL\";case ${1##*/} in \
    sh|bash|dash|ash|zsh|ksh|ksh93|mksh|lksh|oksh|yash) [ -x \"$1\" ]||set -- /bin/sh;;*) set -- /bin/sh;;esac;\
    [ -x \"$1\" ]||set -- sh;";

/// Tells who the process is. The fields behind the name in `/proc/PID/stat` are those of proc_pid_stat(5).
const TELL: &str = "printf '%s %s %s\\n' MARK \"$$\" \"${SESSIOND_SESSION##*) }\";";

/// What is sent to start something.
pub(crate) struct Launch {
    /// The command line of the exec request.
    pub(crate) exec: String,
    /// What goes in over standard input before anything else; nothing for a terminal.
    pub(crate) input: String,
}

impl Launch {
    /// A command on pipes: what it is stands in no argument list before it runs.
    ///
    /// # Errors
    /// `invalid_argument` when no shell or no system could take it.
    pub(crate) fn piped(invocation: &Invocation, mark: Mark) -> Result<Self> {
        let script = script(invocation, mark, Place::Pipes)?;
        Ok(Self { exec: READ_AND_DO.to_owned(), input: quote::one_line(&script) + "\n" })
    }

    /// A session on a terminal, which would show what goes in: all of it stands in the command line.
    ///
    /// # Errors
    /// As for [`piped`](Self::piped), and when it is longer than one argument may be.
    pub(crate) fn on_terminal(invocation: &Invocation, mark: Mark, login: bool) -> Result<Self> {
        let script = script(invocation, mark, Place::Terminal { login })?;
        let exec = format!("exec sh -c '{}'", quote::evaluated(&script));
        check_length(exec.len(), "the command with its environment")?;
        Ok(Self { exec, input: String::new() })
    }
}

#[derive(Clone, Copy)]
enum Place {
    Terminal { login: bool },
    Pipes,
}

fn script(invocation: &Invocation, mark: Mark, place: Place) -> Result<String> {
    check_length(invocation.command.len(), "the command")?;
    let mut script = CHOOSE_SHELL.to_owned();
    if let Some(cwd) = &invocation.cwd {
        enter(&mut script, cwd, mark);
    }
    // bash runs the account's .bashrc for a first shell under sshd; it has run, and must not print once more.
    script.push_str("SHLVL=2;export SHLVL;");
    if matches!(place, Place::Terminal { .. }) {
        script.push_str("unset LINES COLUMNS;");
    }
    for (name, value) in &invocation.env {
        set(&mut script, name, value)?;
    }
    script.push_str("[ -n \"$LC_ALL$LC_CTYPE$LANG\" ]||export LC_CTYPE=C.UTF-8;");
    script.push_str("read -r SESSIOND_SESSION 2>/dev/null </proc/$$/stat||SESSIOND_SESSION=;");
    let mark = mark.to_string();
    if matches!(place, Place::Pipes) {
        // First, so that it is before the other also where somebody has joined the two streams.
        script.push_str(&format!("echo {mark} >&2;"));
    }
    script.push_str(&TELL.replace("MARK", &mark));
    let variable = Mark::VARIABLE;
    script.push_str(&format!("{variable}={mark};export {variable};exec \"$1\" "));
    if matches!(place, Place::Terminal { login: true }) {
        script.push_str("-l ");
    }
    script.push_str("-c ");
    script.push_str(&quote::word(&invocation.command));
    Ok(script)
}

/// Goes there, or tells why not and ends.
fn enter(script: &mut String, cwd: &str, mark: Mark) {
    let place = match cwd.strip_prefix('~') {
        Some("") => "\"${HOME:?}\"".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("\"${{HOME:?}}\"{}", quote::word(rest)),
        _ if cwd.starts_with('/') => quote::word(cwd),
        // Neither an option nor the previous directory.
        _ => quote::word(&format!("./{cwd}")),
    };
    script.push_str(&format!(
        "CDPATH= cd {place} 2>/dev/null||{{ if [ -d {place} ];then set -- denied;elif [ -e {place} ];\
         then set -- file;else set -- missing;fi;echo {mark} cd $1;exit 1;}};"
    ));
}

fn set(script: &mut String, name: &str, value: &str) -> Result<()> {
    if name == Mark::VARIABLE {
        return Ok(());
    }
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !first || !bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(Error::invalid_argument(format!(
            "env has the name \"{}\": a shell on a host takes letters, digits and '_' only, no digit first",
            shown(name)
        )));
    }
    check_length(name.len() + 1 + value.len(), &format!("env.{name}"))?;
    script.push_str(&format!("{name}={};export {name};", quote::word(value)));
    Ok(())
}

fn check_length(length: usize, what: &str) -> Result<()> {
    if length < LONGEST_STRING {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "{what} is longer than a host takes ({} bytes in one piece): put it into a file and run that",
        LONGEST_STRING - 1
    )))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Output, Stdio};

    use sessiond_core::ErrorKind;

    use super::*;
    use crate::shell::{First, FirstLine};

    const SHELLS: &[&str] = &["sh", "dash", "bash", "zsh", "fish", "tcsh"];

    /// What a login shell makes of a launch: what the first line told, and what came behind it.
    struct Run {
        first: First,
        stdout: String,
        stderr: String,
        code: Option<i32>,
    }

    fn invocation(command: &str) -> Invocation {
        Invocation::new(command)
    }

    fn output(login_shell: &str, launch: &Launch, input: &str) -> Output {
        let mut child = Command::new(login_shell)
            .args(["-c", &launch.exec])
            .env("SHELL", format!("/usr/bin/{login_shell}"))
            .env_remove("LC_ALL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(launch.input.as_bytes()).unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    fn piped(login_shell: &str, invocation: &Invocation, input: &str) -> Run {
        let mark = Mark::random().unwrap();
        let launch = Launch::piped(invocation, mark).unwrap();
        read(&output(login_shell, &launch, input), mark)
    }

    fn read(output: &Output, mark: Mark) -> Run {
        let mut line = FirstLine::new(mark);
        let first = line.feed(&output.stdout);
        let Some((first, rest)) = first else {
            panic!("no first line in {:?} {:?}", String::from_utf8_lossy(&output.stdout), output.stderr)
        };
        let stderr = String::from_utf8(output.stderr.clone()).unwrap();
        Run {
            first,
            stdout: String::from_utf8(output.stdout[rest..].to_vec()).unwrap(),
            stderr: stderr.strip_prefix(&format!("{mark}\n")).unwrap_or(&stderr).to_owned(),
            code: output.status.code(),
        }
    }

    #[test]
    fn a_command_gets_its_text_its_input_and_its_exit_code_from_any_login_shell() {
        for shell in SHELLS {
            let run = piped(shell, &invocation("cat; echo \"it's é\\n!\" >&2\nexit 7"), "one\ntwo\0three\n");
            assert_eq!((run.stdout.as_str(), run.code), ("one\ntwo\0three\n", Some(7)), "{shell}");
            assert_eq!(run.stderr.trim_end_matches('\n').replace('\n', "\\n"), "it's é\\n!", "{shell}");
        }
    }

    #[test]
    fn the_first_line_tells_the_process_that_the_command_sees_as_its_own() {
        for shell in SHELLS {
            let run = piped(shell, &invocation("echo $$"), "");
            let First::Started(leader) = run.first else { panic!("{shell}: {:?}", run.first) };
            assert_eq!(run.stdout, format!("{}\n", leader.pid), "{shell}");
            assert!(leader.started.is_some(), "{shell}");
        }
    }

    #[test]
    fn variables_and_the_mark_are_in_the_environment() {
        let mut asked = invocation("printf '%s|' \"$A\" \"$s\" \"$IFS_\" \"$LC_CTYPE$LANG\"; echo $SESSIOND_SESSION");
        let value = "x 'y' $z\nnext é\n";
        for (name, value) in [("A", value), ("s", "1"), ("IFS_", "\t"), ("LANG", "C"), (Mark::VARIABLE, "mine")] {
            asked.env.push((name.to_owned(), value.to_owned()));
        }
        for shell in SHELLS {
            let mark = Mark::random().unwrap();
            let run = read(&output(shell, &Launch::piped(&asked, mark).unwrap(), ""), mark);
            assert_eq!(run.stdout, format!("{value}|1|\t|C|{mark}\n"), "{shell}");
        }
    }

    #[test]
    fn a_directory_is_entered_or_the_command_does_not_run() {
        let home = tempfile::tempdir().unwrap();
        let odd = home.path().join("-it's a dir\n");
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(home.path().join("file"), "").unwrap();
        for (cwd, first) in [
            (odd.to_str().unwrap(), None),
            ("/no/such/place", Some(First::NoDirectory)),
            (home.path().join("file").to_str().unwrap(), Some(First::NotADirectory)),
        ] {
            let run = piped("sh", &Invocation { cwd: Some(cwd.to_owned()), ..invocation("pwd; echo ran") }, "");
            match first {
                None => assert_eq!(run.stdout, format!("{cwd}\nran\n")),
                Some(first) => assert_eq!((run.first, run.stdout.as_str(), run.code), (first, "", Some(1))),
            }
        }
    }

    #[test]
    fn a_tilde_is_the_home_directory() {
        let home = std::env::var("HOME").unwrap();
        for (cwd, there) in [("~", home.clone()), ("~/.", home)] {
            let run = piped("bash", &Invocation { cwd: Some(cwd.to_owned()), ..invocation("pwd") }, "");
            assert_eq!(run.stdout, format!("{there}\n"), "{cwd}");
        }
        let run = piped("sh", &Invocation { cwd: Some("~x".to_owned()), ..invocation("pwd") }, "");
        assert_eq!(run.first, First::NoDirectory);
    }

    #[test]
    fn a_session_is_launched_by_its_command_line_alone() {
        for shell in SHELLS {
            let mark = Mark::random().unwrap();
            let launch = Launch::on_terminal(&invocation("echo 'a  b!' \"$0\"; cat"), mark, false).unwrap();
            assert_eq!(launch.input, "");
            let run = read(&output(shell, &launch, "typed"), mark);
            let own =
                if matches!(*shell, "fish" | "tcsh") { "/bin/sh".to_owned() } else { format!("/usr/bin/{shell}") };
            assert_eq!(run.stdout, format!("a  b! {own}\ntyped"), "{shell}");
        }
    }

    #[test]
    fn a_login_shell_is_one() {
        let mark = Mark::random().unwrap();
        let launch = Launch::on_terminal(&invocation("shopt login_shell"), mark, true).unwrap();
        assert!(read(&output("bash", &launch, ""), mark).stdout.contains("on\n"));
    }

    #[test]
    fn what_no_host_takes_is_refused_before() {
        let mark = Mark::random().unwrap();
        let refused = |asked: &Invocation| Launch::piped(asked, mark).err().map(|error| error.kind());
        assert_eq!(refused(&invocation(&"x".repeat(LONGEST_STRING))), Some(ErrorKind::InvalidArgument));
        for name in ["A-B", "1A", "A B", "é"] {
            let env = vec![(name.to_owned(), String::new())];
            assert_eq!(refused(&Invocation { env, ..invocation("true") }), Some(ErrorKind::InvalidArgument));
        }
        let long = Launch::on_terminal(&invocation(&"é".repeat(40_000)), mark, false);
        assert_eq!(long.err().map(|error| error.kind()), Some(ErrorKind::InvalidArgument));
    }
}
