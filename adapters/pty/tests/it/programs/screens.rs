//! Programs that own the whole screen.

use sessiond_core::{Stream, WindowSize};

use super::{User, keys, press};
use crate::launches::is_root;
use crate::support::{Terminal, alone, call, exists, needs, size};

/// The drawing program, which says its size and its keys.
async fn screen(user: &User, size: WindowSize) -> Terminal {
    needs("python3");
    user.write("screen.py", include_str!("screen.py"));
    user.start("python3 screen.py", size, false).await
}

async fn resize(terminal: &Terminal, to: WindowSize) {
    terminal.session.resize(&call(), to).await.unwrap();
}

#[tokio::test]
async fn vim_edits_and_saves_by_keys() {
    needs("vim");
    let user = User::new("vim");
    user.write("note", "first\nsecond\n");
    let vim = user.run("vim -u NONE -i NONE -N note").await;
    vim.shows("second").await;
    vim.dialog("Gothird", "third").await;
    vim.type_in("\x1bggdd:wq\r").await;
    vim.prints().await;
    assert_eq!(user.read("note"), "second\nthird\n");
}

#[tokio::test]
async fn vim_follows_arrow_keys_and_a_resize() {
    needs("vim");
    let user = User::new("vim-keys");
    user.write("note", "one\ntwo\nthree\n");
    let vim = user.run("vim -u NONE -i NONE -N note").await;
    vim.shows("three").await;
    assert!(vim.log.application_keys());
    vim.type_in(&keys(&vim, &["down", "down", "end"])).await;
    vim.dialog("a!", "!").await;
    press(&vim, &["escape"], "\x1b\\[24;1H\x1b\\[K").await;
    let from = vim.log.bounds(Stream::Stdout).1;
    resize(&vim, size(200, 50)).await;
    vim.shows_from(from, "\x1b\\[49;1H").await;
    vim.dialog(":echo 'now' &columns 'x' &lines\r", "now 200 x 50").await;
    vim.type_in(":wq\r").await;
    vim.prints().await;
    assert_eq!(user.read("note"), "one\ntwo\nthree!\n");
}

#[tokio::test]
async fn less_pages_and_searches() {
    needs("less");
    let user = User::new("less");
    let less = user.run("seq 1 1000 | less").await;
    less.shows("23\r\n").await;
    less.dialog("/777\r", "777").await;
    less.dialog("G", "1000").await;
    less.type_in("q").await;
    less.prints().await;
}

#[tokio::test]
async fn less_follows_keys_in_the_form_that_it_asks_for() {
    needs("less");
    let user = User::new("less-keys");
    let less = user.run("seq 1 1000 | less").await;
    less.shows("23\r\n").await;
    assert!(less.log.application_keys());
    press(&less, &["down"], "24\r\n").await;
    press(&less, &["page-down"], "47\r\n").await;
    press(&less, &["end"], "1000\r\n").await;
    press(&less, &["home"], "\x1bM1\r\n").await;
    less.type_in("q").await;
    less.prints().await;
    assert!(!less.log.application_keys());
}

#[tokio::test]
async fn git_shows_a_long_log_in_a_pager_and_a_short_one_at_once() {
    needs("git");
    needs("less");
    let user = User::new("git");
    let history = "git init --quiet && git config user.name me && git config user.email me@example.org && \
                   for n in $(seq 1 60); do git commit --quiet --allow-empty --message \"change $n.\"; done";
    user.run(history).await.prints().await;

    let log = user.run("git log --oneline").await;
    log.shows("change 60\\.(?s:.*):").await;
    assert!(!log.text().contains("change 1."), "a page at a time");
    log.dialog(" ", "change 37\\.").await;
    log.dialog("G", "change 1\\.").await;
    log.type_in("q").await;
    log.prints().await;

    let log = user.run("git log --oneline --max-count=2").await.prints().await;
    assert!(log.contains("change 60.") && log.contains("change 59."), "{log:?}");
}

#[tokio::test]
async fn top_refreshes_by_itself_helps_and_quits() {
    needs("top");
    let user = User::new("top");
    let top = user.run("top -d 0.2").await;
    top.shows("(?s)(load average.*){3}").await;
    top.dialog("h", "Help for Interactive Commands").await;
    top.dialog("q", "load average").await;
    top.type_in("q").await;
    top.prints().await;
}

#[tokio::test]
async fn htop_follows_keys_and_draws_to_a_new_size() {
    needs("htop");
    let user = User::new("htop");
    let htop = user.run("htop").await;
    htop.shows("F10").await;
    assert!(htop.log.application_keys());
    resize(&htop, size(120, 40)).await;
    htop.shows("\x1b\\[40;\\d+H").await;
    press(&htop, &["f2"], "Categories").await;
    press(&htop, &["down"], "Display options").await;
    press(&htop, &["f10"], "F1").await;
    htop.type_in(&keys(&htop, &["f10"])).await;
    htop.prints().await;
}

#[tokio::test]
async fn a_curses_program_draws_to_each_new_size() {
    let user = User::new("curses");
    let program = screen(&user, size(80, 24)).await;
    program.shows("80 columns, 24 rows").await;
    for (columns, rows) in [(100, 30), (20, 5), (500, 100), (1000, 300), (80, 24)] {
        let from = program.log.bounds(Stream::Stdout).1;
        resize(&program, size(columns, rows)).await;
        program.shows_from(from, &format!("{columns} columns, {rows} rows(?s:.*)pressed none\\.")).await;
    }
    program.type_in("q").await;
    program.prints().await;
}

#[tokio::test]
async fn a_storm_of_resizes_ends_in_the_last_size() {
    let user = User::new("storm");
    let program = screen(&user, size(20, 5)).await;
    let shell = user.run("PS1='> ' bash --norc -i").await;
    program.shows("20 columns, 5 rows").await;
    shell.shows("> $").await;
    for columns in 20..=200 {
        for terminal in [&program, &shell] {
            resize(terminal, size(columns, 5 + columns % 40)).await;
        }
        // What is typed meanwhile is neither lost nor mangled.
        shell.type_in(":").await;
    }
    for terminal in [&program, &shell] {
        resize(terminal, size(200, 50)).await;
    }
    program.shows("200 columns, 50 rows").await;
    program.type_in("q").await;
    program.prints().await;
    shell.dialog("\nstty size\n", "50 200\r\n").await;
    shell.type_in("exit\n").await;
    let text = shell.prints().await;
    assert!(text.contains(&format!("{}: command not found", ":".repeat(181))), "{text:?}");
}

#[tokio::test]
async fn cursor_keys_have_the_form_that_the_program_asks_for() {
    let user = User::new("keys");
    let program = screen(&user, size(80, 24)).await;
    program.shows("pressed none").await;
    assert!(program.log.application_keys());
    for (key, name) in [
        ("up", "KEY_UP"),
        ("down", "KEY_DOWN"),
        ("left", "KEY_LEFT"),
        ("right", "KEY_RIGHT"),
        ("home", "KEY_HOME"),
        ("end", "KEY_END"),
        ("page-up", "KEY_PPAGE"),
        ("page-down", "KEY_NPAGE"),
        ("insert", "KEY_IC"),
        ("delete", "KEY_DC"),
        ("backspace", "KEY_BACKSPACE"),
        ("f1", "KEY_F\\(1\\)"),
        ("f12", "KEY_F\\(12\\)"),
        ("shift-tab", "KEY_BTAB"),
        ("tab", "\\^I"),
        ("ctrl-a", "\\^A"),
    ] {
        press(&program, &[key], &format!("pressed {name}\\.")).await;
    }
    program.type_in("q").await;
    program.prints().await;
    assert!(!program.log.application_keys());
    // Without a program that asks, the other form.
    let plain = user.run("stty -icanon -echo; echo ready; head -c 3 | cat -v").await;
    plain.shows("ready").await;
    press(&plain, &["up"], "\\^\\[\\[A").await;
    plain.prints().await;
}

#[tokio::test]
async fn a_resize_is_seen_by_the_program() {
    let user = User::new("winch");
    let shell = user.run("trap 'echo winch: $(stty size)' WINCH; echo ready; while :; do sleep 0.02; done").await;
    shell.shows("ready").await;
    resize(&shell, size(101, 33)).await;
    shell.shows("winch: 33 101").await;
    shell.stop().await;
}

#[test]
fn tmux_runs_in_a_session_and_ends_with_its_stop() {
    needs("tmux");
    // With process ids of its own, so that its server does not outlive a test that fails.
    let pids = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"].as_slice();
    let user: &[&str] = if is_root() { &[] } else { &["--map-root-user"] };
    let wrap = [pids, user, &["setsid", "--wait"]].concat();
    alone("programs::screens::tmux_runs_in_a_session_and_ends_with_its_stop", &wrap, tmux());
}

async fn tmux() {
    let user = User::new("tmux");
    // Keys of one write come faster than a hand types, which it would take for pasted text.
    user.write("conf", "set -g assume-paste-time 0\nset -g default-command \"PS1='> ' exec sh\"\n");
    let tmux = user.run("exec tmux -S socket -f conf new-session").await;
    tmux.shows("> ").await;
    tmux.dialog("echo in''side\n", "inside").await;
    // A second shell beside the first, in a terminal of half the width.
    press(&tmux, &["ctrl-b", "%"], "(?s)│.*> ").await;
    tmux.dialog("stty size\n", "(?s)23 39.*> ").await;
    // Its server goes on without the client that led the session.
    press(&tmux, &["ctrl-b", "d"], "detached").await;
    tmux.prints().await;
    let left = tmux.session.descendants().await;
    assert_eq!(left.len(), 3, "a server and two shells");
    tmux.stop().await;
    assert_eq!(left.into_iter().filter(|pid| exists(*pid)).collect::<Vec<_>>(), [0; 0]);
}
