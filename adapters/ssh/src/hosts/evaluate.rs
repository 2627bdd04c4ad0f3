//! What a client configuration says of a host, found out by ourselves: for machines without the OpenSSH client.
//!
//! The result is what `ssh -G` prints of the same files, which a test proves with generated ones. `Match` and
//! canonical names are refused, because both may ask the network or run programs.

use super::files::Item;
use super::settings::{Settings, is_yes};
use super::statement::Statement;
use crate::wildcard;

/// Adds to `settings`, which win, what the files say of a name.
///
/// # Errors
/// Words that name the file, the line and what is wrong or not understood there.
pub(super) fn evaluate(items: &[Item], name: &str, settings: &mut Settings) -> Result<(), String> {
    walk(items, true, name, settings)
}

/// `within`: whether the block that includes these lines has the name.
fn walk(items: &[Item], within: bool, name: &str, settings: &mut Settings) -> Result<(), String> {
    let mut active = within;
    for item in items {
        match item {
            Item::Broken(why) => return Err(why.clone()),
            Item::Included(files) => files.iter().try_for_each(|items| walk(items, active, name, settings))?,
            Item::Line(file, statement) => {
                let blamed = |why| format!("{} line {}: {why}", file.display(), statement.line);
                line(statement, within, &mut active, name, settings).map_err(blamed)?;
            }
        }
    }
    Ok(())
}

fn line(
    statement: &Statement,
    within: bool,
    active: &mut bool,
    name: &str,
    settings: &mut Settings,
) -> Result<(), String> {
    match statement.keyword.as_str() {
        "host" => *active = within && wildcard::list(statement.words()?.iter().map(String::as_str), name),
        "match" => {
            let everybody = matches!(statement.words()?, [all] if all.eq_ignore_ascii_case("all"));
            if within && !everybody {
                return Err("Match is understood by the OpenSSH client alone: install it".to_owned());
            }
            *active = within;
        }
        "canonicalizehostname" if *active && !statement.word()?.eq_ignore_ascii_case("no") => {
            return Err("canonical names are understood by the OpenSSH client alone: install it".to_owned());
        }
        keyword => {
            if let Some(keyword) = Settings::keyword(keyword).filter(|_| *active) {
                set(keyword, statement, settings)?;
            }
        }
    }
    Ok(())
}

/// The first value counts; keys and certificates are collected.
fn set(keyword: &'static str, statement: &Statement, settings: &mut Settings) -> Result<(), String> {
    match keyword {
        "identityfile" | "certificatefile" => {
            let file = statement.word()?;
            if !settings.all(keyword).iter().any(|known| known == file) {
                settings.add(keyword, file);
            }
        }
        // Whichever of the two comes first leaves the other out. A command may still follow no jump, but no jump may
        // follow no command: so does the client.
        "proxycommand" | "proxyjump" => {
            statement.words()?;
            let jumps =
                if keyword == "proxycommand" { settings.some("proxyjump") } else { settings.first("proxyjump") };
            if !settings.has("proxycommand") && jumps.is_none() {
                settings.add(keyword, statement.rest.as_str());
            }
        }
        _ if settings.has(keyword) => {}
        "userknownhostsfile" | "globalknownhostsfile" => {
            statement.words()?.iter().for_each(|file| settings.add(keyword, file.as_str()));
        }
        "port" => {
            let port = statement.word()?;
            port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| format!("{port} is no port"))?;
            settings.add(keyword, port);
        }
        "checkhostip" | "hashknownhosts" | "identitiesonly" | "proxyusefdpass" => {
            let word = statement.word()?;
            if !is_yes(word) && !["no", "false"].contains(&word.to_ascii_lowercase().as_str()) {
                return Err(format!("{word} is neither yes nor no"));
            }
            settings.add(keyword, if is_yes(word) { "yes" } else { "no" });
        }
        "hostkeyalias" => settings.add(keyword, statement.word()?.to_lowercase()),
        _ => settings.add(keyword, statement.word()?),
    }
    Ok(())
}
