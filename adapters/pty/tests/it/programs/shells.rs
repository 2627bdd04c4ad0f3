//! Shells and a REPL, in a terminal and as the shell that runs everything.

use sessiond_core::Exit;

use super::{User, path_of, press};
use crate::support::{Terminal, call, needs};

/// What a shell of this kind prints as the leader of a session, without and with `login`.
async fn as_leader(shell: &str, profile: &str) -> [String; 2] {
    let user = User::with_shell(shell, path_of(shell));
    user.write(profile, "GREETING=hello\n");
    let run = async |login| {
        let command = "echo $0 ${GREETING:-nothing}";
        user.start(command, sessiond_core::WindowSize::default(), login).await.prints().await
    };
    [run(false).await, run(true).await]
}

#[tokio::test]
async fn dash_reads_its_profile_only_as_a_login_shell() {
    assert_eq!(as_leader("dash", ".profile").await, ["dash nothing\r\n", "-dash hello\r\n"]);
}

#[tokio::test]
async fn zsh_reads_its_profile_only_as_a_login_shell() {
    assert_eq!(as_leader("zsh", ".zprofile").await, ["zsh nothing\r\n", "-zsh hello\r\n"]);
}

/// Stops a job, lists it, brings it back, interrupts it, and leaves with a code.
async fn controls_a_job(user: &User, shell: &Terminal, prompt: &str, stopped: &str) {
    needs("python3");
    user.write("job.py", include_str!("job.py"));
    // A job that prints has the terminal.
    shell.dialog("python3 job.py\n", "[\r\n]up\r\n").await;
    let listed = format!("(?s){stopped}[^\n]*python3.*{prompt}");
    shell.dialog("\x1a", &listed).await;
    shell.dialog("jobs\n", &listed).await;
    shell.dialog("fg\n", "\nback\r\n").await;
    shell.dialog("\x03", prompt).await;
    shell.dialog("echo code=$?\n", &format!("(?s)code=130\r\n.*{prompt}")).await;
    shell.type_in("exit 4\n").await;
    assert_eq!(shell.to_end().await.1.exit, Exit::Exited(4));
}

#[tokio::test]
async fn bash_controls_jobs() {
    needs("bash");
    let user = User::new("bash");
    let shell = user.run("PS1='> ' bash --norc -i").await;
    shell.shows("> $").await;
    controls_a_job(&user, &shell, "> $", "\\[1\\].*Stopped").await;
}

#[tokio::test]
async fn a_background_job_of_bash_is_waited_for() {
    needs("bash");
    let user = User::new("background");
    let shell = user.run("PS1='> ' bash --norc -i").await;
    shell.shows("> $").await;
    shell.dialog("sleep 1000 &\n", "\\[1\\] \\d+\r\n(?s:.*)> $").await;
    shell.dialog("kill %1; wait; echo g''one\n", "gone\r\n").await;
    shell.type_in("exit\n").await;
    shell.prints().await;
}

#[tokio::test]
async fn dash_controls_jobs() {
    needs("dash");
    let user = User::new("dash-jobs");
    let shell = user.run("PS1='> ' exec dash -i").await;
    shell.shows("> $").await;
    controls_a_job(&user, &shell, "> $", "\\[1\\].*Stopped").await;
}

/// The prompt of zsh, whose line editor then asks for keys in its form and for marks around what is pasted.
const ZSH_PROMPT: &str = "> \x1b\\[K\x1b\\[\\?1h\x1b=\x1b\\[\\?2004h$";

#[tokio::test]
async fn zsh_controls_jobs() {
    needs("zsh");
    let user = User::new("zsh-jobs");
    user.write(".zshrc", "PROMPT='> '\n");
    let shell = user.run("exec zsh -i").await;
    shell.shows(ZSH_PROMPT).await;
    controls_a_job(&user, &shell, ZSH_PROMPT, "suspended").await;
}

#[tokio::test]
async fn zsh_recalls_a_line_by_a_key() {
    needs("zsh");
    let user = User::new("zsh-keys");
    user.write(".zshrc", "PROMPT='> '\n");
    let shell = user.run("exec zsh -i").await;
    shell.shows(ZSH_PROMPT).await;
    let answer = format!("(?s)\nagain\r\n.*{ZSH_PROMPT}");
    shell.dialog("echo ag''ain\n", &answer).await;
    assert!(shell.log.application_keys(), "its line editor asks for them");
    press(&shell, &["up", "enter"], &answer).await;
    shell.type_in("exit 5\n").await;
    assert_eq!(shell.to_end().await.1.exit, Exit::Exited(5));
}

#[tokio::test]
async fn bracketed_paste_is_not_in_the_way() {
    needs("bash");
    let user = User::new("paste");
    user.write(".inputrc", "set enable-bracketed-paste on\n");
    let shell = user.run("PS1='> ' bash --norc -i").await;
    let prompt = "\x1b\\[\\?2004h> $";
    shell.shows(prompt).await;
    // Lines that are simply written run one after another.
    shell.dialog("echo o''ne\necho t''wo\n", &format!("(?s)one\r\n.*two\r\n.*{prompt}")).await;
    // What is marked as pasted waits for a key.
    let pasted = shell.dialog("\x1b[200~echo thr''ee\necho fo''ur\x1b[201~", "fo''ur").await;
    assert!(!pasted.contains("three"), "{pasted:?}");
    press(&shell, &["enter"], &format!("(?s)three\r\nfour\r\n.*{prompt}")).await;
    shell.session.eof(&call()).await.unwrap();
    shell.prints().await;
}

#[tokio::test]
async fn a_python_repl_calculates_and_is_interrupted() {
    needs("python3");
    let user = User::new("python");
    let repl = user.run("PYTHON_BASIC_REPL=1 python3 -q").await;
    repl.shows(">>> ").await;
    repl.dialog("6 * 7\n", "\r\n42\r\n").await;
    // Short naps: an interrupt that comes just before one is seen after it.
    let naps = "import time; print('na' + 'pping', flush=True); any(time.sleep(0.01) for _ in iter(int, 1))\n";
    repl.dialog(naps, "\r\nnapping").await;
    repl.dialog("\x03", "KeyboardInterrupt").await;
    repl.dialog("input('name? ')\n", "name\\? $").await;
    repl.dialog("you\n", "'you'").await;
    repl.shows(">>> $").await;
    repl.session.eof(&call()).await.unwrap();
    repl.prints().await;
}
