//! How the program ends: no output after bad input, whole output after Ctrl-C.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

fn kmeans(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kmeans"));
    command.current_dir(folder);
    command
}

fn names(folder: &Path) -> BTreeSet<OsString> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn bad_input_is_an_error_and_leaves_no_file() {
    for entry in fs::read_dir(Path::new(DATA).join("bad")).unwrap() {
        let bad = entry.unwrap().path();
        if bad.extension().is_some_and(|e| e == "json") {
            continue;
        }
        let folder = TempDir::new().unwrap();
        let output = kmeans(folder.path()).args(["fit", "-k2", "-o", "out", "-m", "model"]).arg(&bad).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: ") && said.contains(bad.to_str().unwrap()), "{said}");
        assert!(output.stdout.is_empty());
        assert!(names(folder.path()).is_empty(), "{}", bad.display());
    }
}

#[test]
fn the_result_is_the_same_from_a_pipe() {
    let folder = TempDir::new().unwrap();
    for name in ["points.txt", "points.csv", "points.npy", "lists.parquet"] {
        let fit = |input: &str, stdin: Stdio, out: &str| {
            let args = ["fit", "-k3", "-q", "-o", out, input];
            let output = kmeans(folder.path()).args(args).stdin(stdin).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            fs::read(folder.path().join(out).with_extension("membership")).unwrap()
        };
        let file = format!("{DATA}/{name}");
        let piped = fit("-", fs::File::open(&file).unwrap().into(), "piped");
        assert_eq!(piped, fit(&file, Stdio::null(), "file"), "{name}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let folder = TempDir::new().unwrap();
    let mut child = kmeans(folder.path()).args(["generate", "-n100000", "-"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
mod ctrl_c {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;

    const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/coffee.png");

    fn generate(folder: &Path, points: &str) {
        let generated = kmeans(folder).args(["generate", points, "-d4", "--blobs=0", "points.npy"]).status().unwrap();
        assert!(generated.success());
    }

    /// Starts a fit that takes long, asks it to end after a while, and waits for that.
    fn interrupted(folder: &Path, arguments: &[&str]) -> Output {
        generate(folder, "-n2000000");
        interrupted_after_a_while(folder, &[&["fit", "points.npy"], arguments].concat())
    }

    /// Starts work that takes long, asks it to end after a while, and waits for that.
    fn interrupted_after_a_while(folder: &Path, arguments: &[&str]) -> Output {
        let mut command = kmeans(folder);
        command.args(arguments).args(["-q", "--device=cpu", "--threads=1"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        sleep(Duration::from_secs(2));
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself: make the job larger");
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let asked = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(asked.elapsed() < Duration::from_secs(30));
        output
    }

    #[test]
    fn ends_a_fit_with_the_best_result_so_far() {
        let folder = TempDir::new().unwrap();
        let args = ["-k500", "--until-repeat", "--max-iter=1000000", "--init=first", "--json", "-o", "out"];
        let output = interrupted(folder.path(), &args);
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        let summary = String::from_utf8(output.stdout).unwrap();
        assert!(summary.contains("\"interrupted\": true"), "{summary}");
        let labels = fs::read_to_string(folder.path().join("out.membership")).unwrap();
        assert_eq!(labels.lines().count(), 2_000_000);
        let centroids = fs::read_to_string(folder.path().join("out.cluster_centres")).unwrap();
        assert_eq!(centroids.lines().count(), 500);
        assert_eq!(names(folder.path()).len(), 3);
    }

    #[test]
    fn ends_an_image_with_its_best_colours_so_far_and_leaves_out_the_next() {
        let folder = TempDir::new().unwrap();
        let settings = ["-k3000", "--every-pixel", "--until-repeat", "--max-iter=1000000", "--init=first", "--json"];
        fs::copy(PHOTO, folder.path().join("second.png")).unwrap();
        let arguments = [&["segment", PHOTO, "second.png", "-o", "{}-out.png"], &settings[..]].concat();
        let output = interrupted_after_a_while(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        let summary = String::from_utf8(output.stdout).unwrap();
        assert_eq!(summary.matches("\"interrupted\": true").count(), 1, "{summary}");
        assert_eq!(names(folder.path()), ["coffee-out.png", "second.png"].map(OsString::from).into());
    }

    #[test]
    fn ends_patches_with_the_best_result_so_far() {
        let folder = TempDir::new().unwrap();
        let settings = ["-k2000", "--until-repeat", "--max-iter=1000000", "--init=even", "--json"];
        let arguments = [&["patches", PHOTO, "--reconstruct", "out.png"], &settings[..]].concat();
        let output = interrupted_after_a_while(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(String::from_utf8(output.stdout).unwrap().contains("\"interrupted\": true"));
        assert_eq!(names(folder.path()), BTreeSet::from(["out.png".into()]));
    }

    #[test]
    fn chooses_k_from_those_that_are_done() {
        let folder = TempDir::new().unwrap();
        generate(folder.path(), "-n50000");
        let settings = ["--to=2000", "--init=first", "--silhouette=simplified", "--csv", "--chart=out.svg"];
        let output = interrupted_after_a_while(folder.path(), &[&["select-k", "points.npy"], &settings[..]].concat());
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        let table = String::from_utf8(output.stdout).unwrap();
        assert_eq!(table.matches("true").count(), 1, "{table}");
        assert!((2..2000).contains(&table.lines().count()), "{table}");
        assert!(folder.path().join("out.svg").exists());
    }

    #[test]
    fn ends_a_tree_with_the_levels_that_are_done() {
        let folder = TempDir::new().unwrap();
        generate(folder.path(), "-n2000000");
        let settings = ["-k16", "--max-leaf-size=1", "--max-iter=300", "--json", "--labels=leaves.npy"];
        let output = interrupted_after_a_while(folder.path(), &[&["tree", "points.npy"], &settings[..]].concat());
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        let summary = String::from_utf8(output.stdout).unwrap();
        assert!(summary.contains("\"interrupted\": true"), "{summary}");
        assert_eq!(fs::metadata(folder.path().join("leaves.npy")).unwrap().len(), 128 + 4 * 2_000_000);
    }

    #[test]
    fn before_there_is_a_result_leaves_nothing() {
        let folder = TempDir::new().unwrap();
        let output = interrupted(folder.path(), &["-k30000", "-o", "out"]);
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(stderr(&output).contains("nothing was written"), "{}", stderr(&output));
        assert_eq!(names(folder.path()), BTreeSet::from(["points.npy".into()]));
    }
}

#[test]
fn every_shell_and_every_subcommand_is_served() {
    let folder = TempDir::new().unwrap();
    let printed = |args: &[&str]| {
        let output = kmeans(folder.path()).args(args).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(printed(&["completions", shell]).contains("index-column"), "{shell}");
    }
    assert!(printed(&["manual"]).contains("kmeans\\-trace"));
    for name in [
        "fit",
        "predict",
        "score",
        "segment",
        "patches",
        "select-k",
        "bench",
        "trace",
        "generate",
        "devices",
        "completions",
        "manual",
    ] {
        let page = printed(&["manual", name]);
        assert!(page.contains(&format!(".TH kmeans-{name} 1")), "{page}");
    }
}
