//! Real programs, driven as a person would: a shell with job control, a REPL, an editor, a pager.

use sessiond_core::Invocation;

use crate::support::{Directory, Terminal, call, needs, pty, size};

#[tokio::test]
async fn bash_controls_jobs() {
    needs("bash");
    let pty = pty();
    let shell = Terminal::run(&pty, "PS1='> ' bash --norc -i").await;
    shell.shows("> ").await;
    // A job that prints has the terminal.
    shell.dialog("sh -c 'echo u''p; exec sleep 1000'\n", "up\r\n").await;
    shell.dialog("\x1a", "\\[1\\].*Stopped.*\r\n.*> $").await;
    shell.dialog("jobs\n", "\\[1\\].*Stopped.*sleep 1000").await;
    shell.dialog("bg\n", "\\[1\\].*sleep 1000' &").await;
    shell.dialog("kill %1; wait; echo g''one\n", "gone\r\n").await;
    shell.type_in("exit 4\n").await;
    assert_eq!(shell.to_end().await.1.exit, sessiond_core::Exit::Exited(4));
}

#[tokio::test]
async fn a_python_repl_calculates_and_is_interrupted() {
    needs("python3");
    let pty = pty();
    let repl = Terminal::run(&pty, "PYTHON_BASIC_REPL=1 python3 -q").await;
    repl.shows(">>> ").await;
    repl.dialog("6 * 7\n", "\r\n42\r\n").await;
    repl.dialog("import time; print('na' + 'pping', flush=True); time.sleep(1000)\n", "\r\nnapping").await;
    repl.dialog("\x03", "KeyboardInterrupt").await;
    repl.dialog("input('name? ')\n", "name\\? $").await;
    repl.dialog("you\n", "'you'").await;
    repl.shows(">>> $").await;
    repl.session.eof(&call()).await.unwrap();
    repl.prints().await;
}

#[tokio::test]
async fn vim_edits_and_saves_by_keys() {
    needs("vim");
    let pty = pty();
    let directory = Directory::new("vim");
    std::fs::write(directory.path("note"), "first\nsecond\n").unwrap();
    let invocation = Invocation { cwd: Some(directory.text()), ..Invocation::new("vim -u NONE -N note") };
    let vim = Terminal::try_run(&pty, invocation).await.unwrap();
    vim.shows("second").await;
    vim.dialog("Gothird", "third").await;
    vim.type_in("\x1bggdd:wq\r").await;
    vim.prints().await;
    assert_eq!(std::fs::read_to_string(directory.path("note")).unwrap(), "second\nthird\n");
}

#[tokio::test]
async fn less_pages_and_searches() {
    needs("less");
    let pty = pty();
    let less = Terminal::run(&pty, "seq 1 1000 | less").await;
    less.shows("23\r\n").await;
    less.dialog("/777\r", "777").await;
    less.dialog("G", "1000").await;
    less.type_in("q").await;
    less.prints().await;
}

#[tokio::test]
async fn a_resize_is_seen_by_the_program() {
    let pty = pty();
    let shell =
        Terminal::run(&pty, "trap 'echo winch: $(stty size)' WINCH; echo ready; while :; do sleep 0.02; done").await;
    shell.shows("ready").await;
    shell.session.resize(&call(), size(101, 33)).await.unwrap();
    shell.shows("winch: 33 101").await;
    shell.stop().await;
}
