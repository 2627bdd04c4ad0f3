//! Copies the core's sources and plants faults in the copy, each dormant until a check asks for it.
//!
//! A plant names the lines that it stands beside. When those lines change, the build fails and says which plant has
//! lost its place: a check whose faults are not there any more would prove nothing.

use std::error::Error;
use std::fs;
use std::path::Path;

/// A fault: the file, the lines as they stand in the core, and what stands there in the copy.
struct Plant {
    file: &'static str,
    sound: &'static str,
    planted: &'static str,
}

const PLANTS: [Plant; 4] = [
    Plant {
        // What came between the first look and the subscription counts as seen, and nobody looks.
        file: "wait.rs",
        sound: "            let level = level.get_or_insert_with(|| self.subscribe());
            look = condition.look(&level.borrow_and_update())?;",
        planted: "            let first = level.is_none();
            let level = level.get_or_insert_with(|| self.subscribe());
            if !(first && crate::plants::grows(crate::plants::Fault::SubscribesTooLate)) {
                look = condition.look(&level.borrow_and_update())?;
            }",
    },
    Plant {
        // What came between the look and the mark counts as seen.
        file: "wait.rs",
        sound: "            if let Life::Ended(end) = level.borrow_and_update().life() {
                return end.clone();
            }",
        planted: "            if crate::plants::grows(crate::plants::Fault::MarksTooLate) {
                if let Life::Ended(end) = level.borrow().life() {
                    return end.clone();
                }
                drop(level.borrow_and_update());
            } else if let Life::Ended(end) = level.borrow_and_update().life() {
                return end.clone();
            }",
    },
    Plant {
        // A step of the lifecycle is taken from a life that may be past.
        file: "output/log.rs",
        sound: "        self.state.send_modify(|state| {
            let ended_before = state.closed();
            let life = std::mem::replace(&mut state.life, Life::Running);",
        planted: "        let past = self.with(|state| state.life.clone());
        self.state.send_modify(|state| {
            let ended_before = state.closed();
            let mut life = std::mem::replace(&mut state.life, Life::Running);
            if crate::plants::grows(crate::plants::Fault::StepsFromThePast) {
                life = past;
            }",
    },
    Plant {
        // The end can be seen before those who must hear of it first have heard.
        file: "output/log.rs",
        sound: "            if let Some(hook) = hook {
                hook(kept);
            }
        });",
        planted: "            if let Some(hook) = hook {
                if crate::plants::grows(crate::plants::Fault::TellsTooLate) {
                    late = Some((hook, kept));
                } else {
                    hook(kept);
                }
            }
        });
        if let Some((hook, kept)) = late {
            hook(kept);
        }",
    },
];

/// Where the plant that tells too late keeps what it has to tell.
const LATE: (&str, &str) = (
    "    fn advance(&self, step: impl FnOnce(Life) -> Life) {\n",
    "    fn advance(&self, step: impl FnOnce(Life) -> Life) {\n        let mut late: Option<(EndHook, usize)> = None;\n",
);

fn main() -> Result<(), Box<dyn Error>> {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    println!("cargo::rerun-if-changed={}", core.display());
    println!("cargo::rerun-if-changed=build.rs");
    let copy = Path::new(&std::env::var("OUT_DIR")?).join("core");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    copy_folder(&core, &copy)?;
    for plant in &PLANTS {
        replace(&copy.join(plant.file), plant.sound, plant.planted)?;
    }
    replace(&copy.join("output/log.rs"), LATE.0, LATE.1)?;
    // The scheduler's `watch` is older than `Sender::new`.
    replace(&copy.join("output/log.rs"), "watch::Sender::new(state)", "watch::channel(state).0")?;
    // It reads its version in one step with whatever came before; a thread may be interrupted there.
    replace(&copy.join("output/log.rs"), "self.state.subscribe()", "crate::plants::step(); self.state.subscribe()")?;
    replace(&copy.join("registry/table.rs"), "watch::Sender::new(())", "watch::channel(()).0")?;
    without_inner_docs(&copy.join("lib.rs"))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Replaces what must be there exactly once.
fn replace(file: &Path, sound: &str, planted: &str) -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(file)?;
    if text.matches(sound).count() != 1 {
        return Err(format!("a plant has lost its place in {}: these lines are gone:\n{sound}", file.display()).into());
    }
    Ok(fs::write(file, text.replace(sound, planted))?)
}

/// The root is included into another file, where documentation of the file itself has no place.
fn without_inner_docs(root: &Path) -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(root)?;
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("//!")).collect();
    Ok(fs::write(root, kept.join("\n"))?)
}
