//! Finds the name that somebody probably meant.

/// The known name that differs least from this one, when that is little: a wrong hint is worse than none, and more than
/// half of a name is no slip.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Nobody mistypes a longer name, and the comparison takes time with its square.
    const MAX: usize = 128;
    let name: String = name.chars().take(MAX).collect();
    let differing = |known: &str| strsim::damerau_levenshtein(known, &name);
    let near = known.into_iter().min_by_key(|known| differing(known))?;
    (differing(near) * 2 < near.chars().count().max(name.chars().count())).then_some(near)
}

/// The nearest name in words, to go after what is wrong; the known ones where none is near and there are few.
pub(crate) fn told<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const FEW: usize = 16;
    let known: Vec<_> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("; the nearest one is {near}"),
        None if known.len() <= FEW => format!("; known are {}", known.join(", ")),
        None => String::new(),
    }
}
