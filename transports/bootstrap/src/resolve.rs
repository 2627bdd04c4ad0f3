//! From entries to a checked configuration, or to everything that is wrong with them.

use std::collections::BTreeMap;

use sessiond_core::TargetName;

use crate::config::{BackendSettings, Configuration, LOCAL, TargetSettings};
use crate::environment::Environment;
use crate::file::Entry;
use crate::key_path::KeyPath;
use crate::overlay;
use crate::problem::{Origin, Problem, Problems};
use crate::setting::Raw;
use crate::settings::{
    BACKENDS, OF_SERVER_ALTERNATIVES, TARGET, alternatives, backend, of_server, paths, problem_of_telemetry,
    take_common_variables,
};

/// The configuration that a file's entries and the environment's variables make.
///
/// # Errors
/// Every problem there is.
pub(crate) fn resolve(file: Vec<Entry>, environment: &Environment) -> Result<Configuration, Problems> {
    let mut problems = Vec::new();
    let mut resolving = Resolving { configuration: Configuration::default(), unusable: Vec::new() };
    resolving.find_targets(&file, &mut problems);

    let names: Vec<_> = resolving.configuration.targets.keys().map(ToString::to_string).collect();
    let names: Vec<_> = names.iter().map(String::as_str).chain(resolving.unusable.iter().map(String::as_str)).collect();
    let variables = overlay::entries(environment, &names, &mut problems);
    for entry in file.into_iter().chain(variables) {
        if let Err(problem) = resolving.set(entry) {
            problems.push(problem);
        }
    }
    let Resolving { mut configuration, .. } = resolving;
    take_common_variables(&mut configuration, environment);
    problems.extend(problem_of_telemetry(&configuration));
    problems.extend(contradictions(&configuration));
    problems.extend(of_targets(&configuration));
    if problems.is_empty() && !configuration.targets.values().any(|target| target.enabled) && !configuration.ssh.enabled
    {
        problems.push(Problem::new("every target is disabled: enable one, for nothing can run without"));
    }
    if problems.is_empty() { Ok(configuration) } else { Err(Problems(problems)) }
}

/// What is wrong with the keys of enabled targets as a whole, where the keys themselves are right.
fn of_targets(configuration: &Configuration) -> Vec<Problem> {
    let enabled = configuration.targets.iter().filter(|(_, target)| target.enabled);
    let found =
        enabled.flat_map(|(name, target)| target.backend.problems().into_iter().map(move |found| (name, found)));
    let placed = found.filter_map(|(name, (key, what))| {
        let path = KeyPath::of_target(name.as_str(), key);
        // What is not there has the line of what makes it necessary.
        let origins = [&path, &KeyPath::of_target(name.as_str(), "backend")];
        let origin = origins.into_iter().find_map(|path| configuration.origins.get(path))?;
        Some(Problem::at(origin, &path, what))
    });
    placed.collect()
}

/// Keys that say one thing in two ways.
fn contradictions(configuration: &Configuration) -> Vec<Problem> {
    let targets = configuration.targets.keys();
    let of_targets = targets.flat_map(|target| {
        alternatives().map(move |keys| keys.iter().map(|key| KeyPath::of_target(target.as_str(), key)).collect())
    });
    let of_server = OF_SERVER_ALTERNATIVES.iter().map(|keys| keys.iter().map(|key| KeyPath::of(key)).collect());
    of_targets.chain(of_server).filter_map(|paths| contradiction(configuration, paths)).collect()
}

/// The first two of these keys that are both set.
fn contradiction(configuration: &Configuration, paths: Vec<KeyPath>) -> Option<Problem> {
    let mut set = paths.into_iter().filter_map(|path| configuration.origins.get(&path).map(|origin| (path, origin)));
    let ((first, there), (second, here)) = (set.next()?, set.next()?);
    Some(Problem::at(here, &second, format!("excludes {first}, which {there} sets: keep one of them")))
}

struct Resolving {
    configuration: Configuration,
    /// Targets whose backend is not known: their other keys cannot be judged.
    unusable: Vec<String>,
}

impl Resolving {
    /// Makes the file's targets, each with its backend's defaults. Only the file makes targets: a misspelt name in a
    /// variable would otherwise be a new one.
    fn find_targets(&mut self, file: &[Entry], problems: &mut Vec<Problem>) {
        let mut found: BTreeMap<&str, (&Origin, Option<&Entry>)> = BTreeMap::new();
        for entry in file {
            if let ["targets", name, rest @ ..] = entry.path.segments().as_slice()
                && (!rest.is_empty() || matches!(entry.raw, Raw::EmptyTable))
            {
                let (_, chosen) = found.entry(name).or_insert((&entry.origin, None));
                if *rest == ["backend"] {
                    *chosen = Some(entry);
                }
            }
        }
        for (name, (origin, chosen)) in found {
            match self.backend_of(name, origin, chosen) {
                Ok((name, backend)) => {
                    let target = TargetSettings { backend, ..TargetSettings::default() };
                    self.configuration.targets.insert(name, target);
                }
                Err(problem) => {
                    problems.push(problem);
                    self.unusable.push(name.to_owned());
                }
            }
        }
    }

    fn backend_of(
        &self,
        name: &str,
        origin: &Origin,
        chosen: Option<&Entry>,
    ) -> Result<(TargetName, BackendSettings), Problem> {
        let path = KeyPath::of_target(name, "backend");
        let known = format!("known backends are {}", BACKENDS.join(", "));
        let target = TargetName::new(name)
            .map_err(|error| Problem::at(origin, &KeyPath::of("targets"), format!("has a bad name: {error}")))?;
        let settings = match chosen {
            None if name == LOCAL => return Ok((target, TargetSettings::default().backend)),
            None => return Err(Problem::at(origin, &path, format!("is missing; {known}"))),
            Some(entry) => match entry.raw.text() {
                Some(word) => backend(word).ok_or_else(|| {
                    Problem::at(&entry.origin, &path, format!("is {word:?}, which is not known; {known}"))
                }),
                None => Err(Problem::at(&entry.origin, &path, format!("must be a string; {known}"))),
            },
        };
        settings.map(|settings| (target, settings))
    }

    /// Puts one entry where it belongs.
    fn set(&mut self, entry: Entry) -> Result<(), Problem> {
        let Entry { path, raw, origin } = entry;
        let segments = path.segments();
        let taken = match segments.as_slice() {
            ["targets", name, ..] if self.unusable.iter().any(|unusable| unusable == name) => return Ok(()),
            ["targets", _, "backend"] if matches!(origin, Origin::Variable(_)) => {
                Some(Err("is the file's to say, because a backend brings its own keys".to_owned()))
            }
            ["targets", name, key, rest @ ..] => self.set_target(name, key, rest, &raw),
            _ => of_server()
                .find(|setting| setting.name.split('.').eq(segments.iter().copied()))
                .map(|setting| setting.apply(&mut self.configuration, &[], &raw)),
        };
        match taken {
            // An empty table sets nothing, so it is nobody's origin.
            Some(Ok(())) if matches!(raw, Raw::EmptyTable) => Ok(()),
            Some(Ok(())) => {
                self.configuration.origins.insert(path, origin);
                Ok(())
            }
            Some(Err(expected)) => Err(Problem::at(&origin, &path, expected)),
            None if !self.is_section(&segments, &origin) => Err(self.unknown(&path, &origin)),
            None if matches!(raw, Raw::EmptyTable) => Ok(()),
            None => Err(Problem::at(&origin, &path, "is a section: give it keys of its own")),
        }
    }

    fn set_target(&mut self, name: &str, key: &str, rest: &[&str], raw: &Raw) -> Option<Result<(), String>> {
        let target = self.configuration.targets.iter_mut().find(|(known, _)| known.as_str() == name);
        let (_, target) = target?;
        if let Some(setting) = TARGET.iter().find(|setting| setting.name == key && rest.is_empty()) {
            return Some(setting.apply(target, rest, raw));
        }
        target.backend.apply(key, rest, raw)
    }

    /// Whether keys lie below this path. The file may put any target below `targets`.
    fn is_section(&self, segments: &[&str], origin: &Origin) -> bool {
        let of_targets = match segments {
            ["targets"] => true,
            ["targets", _] => matches!(origin, Origin::File { .. }),
            _ => false,
        };
        of_targets || self.paths().iter().any(|path| path.segments().starts_with(segments))
    }

    fn paths(&self) -> Vec<KeyPath> {
        paths(self.configuration.targets.iter().map(|(name, target)| (name.as_str(), &target.backend)))
    }

    fn unknown(&self, path: &KeyPath, origin: &Origin) -> Problem {
        let written = |path: &KeyPath| match origin {
            Origin::Variable(_) => path.variable(),
            Origin::File { .. } | Origin::Flag(_) => path.to_string(),
        };
        let mut problem = match origin {
            Origin::Variable(_) => "sets no known key".to_owned(),
            Origin::File { .. } | Origin::Flag(_) => "is not a known key".to_owned(),
        };
        let wanted = written(path);
        let differing = |known: &String| strsim::damerau_levenshtein(known, &wanted);
        let nearest = self.paths().iter().map(written).min_by_key(differing);
        // A wrong hint is worse than none: more than half of a key is no slip.
        let near = nearest.filter(|known| differing(known) * 2 < known.chars().count().max(wanted.chars().count()));
        problem.push_str(&match near {
            Some(near) => format!("; the nearest one is {near}"),
            None => "; config.example.toml of the documentation has every key".to_owned(),
        });
        Problem::at(origin, path, problem)
    }
}
