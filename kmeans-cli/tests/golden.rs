//! Golden files: commands with their output and exit codes, in `tests/cmd` and in the pages of `docs/cli`.
//!
//! `TRYCMD=overwrite cargo test -p kmeans-cli --test golden` writes what the program prints into copies under the target
//! folder, and says where; a page is brought up to date by copying it from there.

use std::fs;
use std::path::Path;

/// Copies the pages of a folder to a place of their own, each with the sample files to run in, and runs them.
fn run(folder: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder.replace(['/', '.'], "_"));
    let _ = fs::remove_dir_all(&copies);
    fs::create_dir_all(&copies).unwrap();
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let page = entry.unwrap().path();
        if page.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let copy = copies.join(page.file_name().unwrap());
        fs::copy(&page, &copy).unwrap();
        copy_folder(&root.join("tests/data"), &copy.with_extension("in"));
    }
    println!("the pages of {folder} are run in {}", copies.display());
    trycmd::TestCases::new().case(format!("{}/*.md", copies.display()));
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

#[test]
fn commands_print_what_they_printed() {
    run("tests/cmd");
}

#[test]
fn documentation_shows_real_output() {
    run("../docs/cli");
}
