//! The recorded sets as files: what `check` holds the present against, and what `accept` writes.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::changelog::changelog;
use super::class::{Class, verdict};
use super::diff::{Change, contents};
use super::published::deviations;
use super::set::{Content, Set};
use super::version::Version;

/// Where the sets and the page made of them stand.
#[derive(Clone, Debug)]
pub struct Store {
    /// The folder of the sets, one file for each version.
    pub sets: PathBuf,
    /// The page for people.
    pub changelog: PathBuf,
}

/// Something that must not stay as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What is wrong and what to do.
    pub message: String,
    /// The differences that it is about.
    pub changes: Vec<Change>,
}

impl Problem {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), changes: Vec::new() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for change in &self.changes {
            write!(f, "\n  {change}")?;
        }
        Ok(())
    }
}

impl Store {
    /// The sets, sorted by version.
    ///
    /// # Errors
    /// Which file is no set, or is named after another version than its own.
    pub fn load(&self) -> Result<Vec<Set>, Problem> {
        let folder = fs::read_dir(&self.sets).map_err(|error| failed(&self.sets, &error))?;
        let mut sets = Vec::new();
        for file in folder {
            let path = file.map_err(|error| failed(&self.sets, &error))?.path();
            let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
            let set = Set::parse(&text).map_err(|why| Problem::new(format!("{}: {why}", path.display())))?;
            if path != self.file(set.version) {
                return Err(Problem::new(format!("{} holds version {}: rename it", path.display(), set.version)));
            }
            sets.push(set);
        }
        sets.sort_by_key(|set| set.version);
        Ok(sets)
    }

    /// Everything that is wrong with the present, its version, and what is recorded of both. Empty when all is right.
    pub fn check(&self, version: Version, now: &Content) -> Vec<Problem> {
        let sets = match self.load() {
            Ok(sets) => sets,
            Err(problem) => return vec![problem],
        };
        let mut problems: Vec<Problem> =
            sets.windows(2).filter_map(|pair| if let [old, new] = pair { steps(old, new) } else { None }).collect();
        problems.extend(present(&sets, version, now));
        problems.extend(as_published(now));
        let page = fs::read_to_string(&self.changelog);
        if page.ok().as_deref() != Some(&changelog(&sets)) {
            let page = self.changelog.display();
            problems.push(Problem::new(format!("{page} is not made of the recorded sets: accept writes it anew")));
        }
        problems
    }

    /// Records the present under its version, and writes the page anew.
    ///
    /// A version that is recorded stands for what callers have been given, so only its wording is ever written over;
    /// with `replace`, all of it, for a version that nobody has been given yet.
    ///
    /// # Errors
    /// Why this must not be recorded, or which file could not be written.
    pub fn accept(&self, version: Version, now: &Content, today: &str, replace: bool) -> Result<(), Problem> {
        if let Some(problem) = as_published(now) {
            return Err(problem);
        }
        fs::create_dir_all(&self.sets).map_err(|error| failed(&self.sets, &error))?;
        let mut sets = self.load()?;
        let own = sets.iter().position(|set| set.version == version).map(|at| sets.remove(at));
        let first_seen = match &own {
            Some(own) if !replace || own.content == *now => {
                if let Some(problem) = needs_a_step(own, now) {
                    return Err(problem);
                }
                own.first_seen.clone()
            }
            _ => today.to_owned(),
        };
        let new = Set { version, first_seen, content: now.clone() };
        if let Some(last) = sets.last() {
            if last.version > version {
                return Err(behind(last, version));
            }
            if let Some(problem) = steps(last, &new) {
                return Err(problem);
            }
        }
        let text = new.text().map_err(Problem::new)?;
        write(&self.file(version), &text)?;
        sets.push(new);
        write(&self.changelog, &changelog(&sets))
    }

    fn file(&self, version: Version) -> PathBuf {
        self.sets.join(format!("{version}.json"))
    }
}

/// What is wrong between two recorded sets that follow each other.
fn steps(old: &Set, new: &Set) -> Option<Problem> {
    if new.first_seen < old.first_seen {
        return Some(Problem::new(format!(
            "{} was first seen on {}, before {}: dates follow versions",
            new.version, new.first_seen, old.version
        )));
    }
    let changes = contents(&old.content, &new.content);
    let class = verdict(changes.iter().map(|change| &change.entry))?;
    let least = old.version.after(class);
    (new.version < least).then(|| Problem {
        message: format!(
            "what changes between {} and {} is {class}: the contract version must be {least} at least",
            old.version, new.version
        ),
        changes: changes.into_iter().filter(|change| old.version.after(change.entry.class) > new.version).collect(),
    })
}

/// What is wrong between the present and what is recorded of it.
fn present(sets: &[Set], version: Version, now: &Content) -> Option<Problem> {
    let Some(last) = sets.last() else {
        return Some(Problem::new("no set is recorded: accept records the first"));
    };
    if last.version > version {
        return Some(behind(last, version));
    }
    if last.version < version {
        let new = Set { version, first_seen: last.first_seen.clone(), content: now.clone() };
        let message = format!("contract version {version} is not recorded: accept records it");
        return Some(steps(last, &new).unwrap_or_else(|| Problem::new(message)));
    }
    needs_a_step(last, now).or_else(|| {
        let changes = contents(&last.content, now);
        let message = format!("the wording differs from what is recorded of {version}: accept records it");
        (last.content != *now).then_some(Problem { message, changes })
    })
}

/// The refusal to let a recorded version mean something else.
fn needs_a_step(recorded: &Set, now: &Content) -> Option<Problem> {
    let changes = contents(&recorded.content, now);
    let class = verdict(changes.iter().map(|change| &change.entry)).filter(|class| *class > Class::Wording)?;
    let (version, least) = (recorded.version, recorded.version.after(class));
    Some(Problem {
        message: format!(
            "{class} changes without a step of the contract version: set CONTRACT_VERSION from {version} to {least} \
             and accept, or take the change back"
        ),
        changes,
    })
}

fn behind(last: &Set, version: Version) -> Problem {
    Problem::new(format!("contract version {} is recorded already, and CONTRACT_VERSION is {version}", last.version))
}

fn as_published(now: &Content) -> Option<Problem> {
    match deviations(now) {
        Ok(deviations) if deviations.is_empty() => None,
        Ok(deviations) => Some(Problem {
            message: "a published tool is not what was published: take the change back".to_owned(),
            changes: deviations.into_iter().map(|(subject, entry)| Change { subject, access: None, entry }).collect(),
        }),
        Err(why) => Some(Problem::new(why)),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    fs::write(path, text).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("{}: {error}", path.display()))
}

/// The present day in UTC, as `2026-11-30`.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / (24 * 60 * 60))
}

/// The date so many days after 1 January 1970.
fn date(days: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut rest) = (1970, days);
    while rest >= 365 + u64::from(is_leap(year)) {
        rest -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        let days = [0, 30, 31, 58, 59, 364, 365, 789, 790, 11_016, 11_017, 20_787];
        let dates = [
            "1970-01-01",
            "1970-01-31",
            "1970-02-01",
            "1970-02-28",
            "1970-03-01",
            "1970-12-31",
            "1971-01-01",
            "1972-02-29",
            "1972-03-01",
            "2000-02-29",
            "2000-03-01",
            "2026-11-30",
        ];
        assert_eq!(days.map(date), dates);
    }
}
