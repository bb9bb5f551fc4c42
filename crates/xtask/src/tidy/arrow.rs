//! The arrows between rooms: who may stand on whom, and which outside crates a room refuses.

use std::path::Path;

use super::Fault;
use crate::workspace::{Dependency, Package};

/// A folder of `crates/` and what it may ask for.
struct Room {
    folder: &'static str,
    /// The rooms it may always stand on.
    stands_on: &'static [&'static str],
    /// The rooms it may stand on only behind a feature.
    with_a_feature: &'static [&'static str],
    /// The outside crates it refuses, families included: `burn` is also `burn-flex`.
    refuses: &'static [&'static str],
}

/// Crates that know a tensor.
const TENSORS: &[&str] = &[
    "burn",
    "candle",
    "cubecl",
    "cudarc",
    "dfdx",
    "faer",
    "gemm",
    "matrixmultiply",
    "nalgebra",
    "ndarray",
    "ort",
    "rten",
    "safetensors",
    "tch",
    "tract",
    "umlaut-engine",
    "umlaut-kernels",
    "umlaut-model",
];

const BURN: &[&str] = &["burn", "cubecl"];

const ROOMS: [Room; 12] = [
    // The one arrow between the two is the newtype `TokenId`: search ranks tokens and must not know a tokenizer.
    Room { folder: "text", stands_on: &["search"], with_a_feature: &[], refuses: TENSORS },
    Room { folder: "metrics", stands_on: &[], with_a_feature: &[], refuses: TENSORS },
    Room { folder: "search", stands_on: &[], with_a_feature: &[], refuses: TENSORS },
    Room { folder: "kernels", stands_on: &[], with_a_feature: &[], refuses: BURN },
    Room { folder: "model", stands_on: &["search", "kernels"], with_a_feature: &[], refuses: &[] },
    Room { folder: "engine", stands_on: &["search", "kernels"], with_a_feature: &[], refuses: BURN },
    // Training validates by translating, with the search that `translate` uses.
    Room {
        folder: "train",
        stands_on: &["text", "model", "engine", "metrics", "search"],
        with_a_feature: &[],
        refuses: &[],
    },
    // Everything of CUDA's is for those alone who ask for it.
    Room { folder: "nccl", stands_on: &[], with_a_feature: &["train"], refuses: &[] },
    Room { folder: "translate", stands_on: &["text", "search", "engine"], with_a_feature: &["model"], refuses: &[] },
    Room {
        folder: "umlaut",
        stands_on: &["text", "metrics", "search", "kernels", "model", "train", "engine", "translate", "ledger"],
        with_a_feature: &["nccl"],
        refuses: &[],
    },
    Room { folder: "ledger", stands_on: &[], with_a_feature: &[], refuses: TENSORS },
    // Every task builds these two first: small, and quick to build.
    Room { folder: "xtask", stands_on: &["ledger"], with_a_feature: &[], refuses: TENSORS },
];

/// What is wrong between the packages of the workspace.
pub(super) fn faults(packages: &[Package]) -> Vec<Fault> {
    packages.iter().flat_map(faults_of_package).collect()
}

fn faults_of_package(package: &Package) -> Vec<Fault> {
    let folder = package.manifest_path.parent().and_then(Path::file_name).unwrap_or_default();
    let Some(room) = ROOMS.iter().find(|room| folder == room.folder) else {
        return vec![Fault::new(&package.name, "is no room of crates/README.md")];
    };
    let mut faults = Vec::new();
    if package.name != package_name(room.folder) {
        faults.push(Fault::new(
            &package.name,
            format!("the package in {0} is {1}", room.folder, package_name(room.folder)),
        ));
    }
    // Tests may hold rooms against each other, so what is asked for only by them counts for nothing.
    let asked = package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev"));
    faults.extend(
        asked.filter_map(|dependency| objection(room, dependency)).map(|message| Fault::new(&package.name, message)),
    );
    faults
}

fn package_name(folder: &str) -> String {
    match folder {
        "umlaut" | "xtask" => folder.to_owned(),
        _ => format!("umlaut-{folder}"),
    }
}

/// Why `room` may not ask for `dependency`, if so.
fn objection(room: &Room, dependency: &Dependency) -> Option<String> {
    if let Some(other) = ROOMS.iter().find(|other| dependency.name == package_name(other.folder)) {
        if room.stands_on.contains(&other.folder) {
            return None;
        }
        return match room.with_a_feature.contains(&other.folder) {
            true if dependency.optional => None,
            true => Some(format!("may stand on `{}` only behind a feature", other.folder)),
            false => Some(format!("may not stand on `{}`", other.folder)),
        };
    }
    let refused = room.refuses.iter().find(|family| is_of_family(&dependency.name, family))?;
    Some(format!("asks for `{}` and refuses to know `{refused}`", dependency.name))
}

fn is_of_family(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, dependency: &str, kind: Option<&str>, optional: bool) -> Package {
        Package {
            name: package_name(folder),
            manifest_path: Path::new("crates").join(folder).join("Cargo.toml"),
            dependencies: vec![Dependency { name: dependency.into(), kind: kind.map(Into::into), optional }],
        }
    }

    fn messages(folder: &str, dependency: &str, kind: Option<&str>, optional: bool) -> Vec<String> {
        faults(&[package(folder, dependency, kind, optional)]).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn an_arrow_of_the_house_is_in_order() {
        assert!(messages("text", "umlaut-search", None, false).is_empty());
        assert!(messages("umlaut", "umlaut-train", None, false).is_empty());
    }

    #[test]
    fn any_other_arrow_is_a_fault() {
        assert_eq!(messages("search", "umlaut-text", None, false), ["may not stand on `text`"]);
        assert_eq!(messages("engine", "umlaut-model", None, false), ["may not stand on `model`"]);
        assert_eq!(messages("metrics", "umlaut-search", Some("build"), false), ["may not stand on `search`"]);
    }

    #[test]
    fn a_test_may_hold_any_two_rooms_together() {
        assert!(messages("engine", "umlaut-model", Some("dev"), false).is_empty());
    }

    #[test]
    fn translate_stands_on_model_only_behind_a_feature() {
        assert!(messages("translate", "umlaut-model", None, true).is_empty());
        assert_eq!(messages("translate", "umlaut-model", None, false).len(), 1);
    }

    #[test]
    fn a_room_without_tensors_refuses_the_whole_family() {
        assert_eq!(messages("text", "burn-flex", None, false), ["asks for `burn-flex` and refuses to know `burn`"]);
        assert_eq!(messages("engine", "burn", None, false).len(), 1);
        assert!(messages("text", "burnish", None, false).is_empty());
    }

    #[test]
    fn a_package_without_a_room_is_a_fault() {
        assert_eq!(messages("attic", "serde", None, false), ["is no room of crates/README.md"]);
    }
}
