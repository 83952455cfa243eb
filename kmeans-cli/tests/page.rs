//! The page of `kmeans trace` in a real browser, without a window: it loads without a word on the console, and what it steps
//! through is what the library finds, label by label.
//!
//! Needs Chromium: `CHROMIUM` names it, or it is on the path. Without one the tests say so and pass, unless
//! `KMEANS_REQUIRE_CHROMIUM=1`, as in CI.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Runs in the page: steps through other settings by its own buttons and fields, and compares with `expected`.
const HARNESS: &str = r#"
(async () => {
  const say = (text) => (document.documentElement.dataset.test = text);
  const must = (condition, what) => { if (!condition) throw new Error(what); };
  const later = () => new Promise((resume) => setTimeout(resume, 10));
  const set = (id, value) => { element(id).value = value; element(id).dispatchEvent(new Event("change")); };
  const press = (key, where = document.body) => where.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  try {
    while (element("k").disabled || !element("check").className) await later();
    must(element("check").className === "good", element("check").textContent);
    must(view.round === 0 && element("back").disabled, "it begins at the start");
    must(document.documentElement.scrollWidth <= window.innerWidth, "it is wider than the window");

    for (const { k, start, seed, labels } of expected) {
      for (const [id, value] of [["k", k], ["start", start], ["seed", seed]]) set(id, value);
      must(view.round === 0, "new settings begin again");
      while (!element("forward").disabled) {
        const before = view.round;
        element("forward").click();
        must(view.round === before + 1, "a step is one iteration");
        const now = view.fit.labels(view.round), then = before > 0 ? view.fit.labels(before) : null;
        const changes = now.reduce((sum, label, i) => sum + (!then || label !== then[i]), 0);
        must(changes === view.fit.record(view.round).changed, "the changes are those of the labels");
        must(view.changes.reduce((sum, c) => sum + c, 0) === changes, "the blocks hold all changes");
      }
      const result = view.fit.result().labels;
      must(result.length === labels.length && labels.every((label, i) => label === result[i]), `other labels for k = ${k}, start ${start}`);
      must(element("numbers").tBodies[0].rows.length === view.fit.rounds(), "a row for each iteration");
      must(element("state").textContent.includes("Ended"), "it says that it has ended");
    }

    const end = view.fit.rounds();
    press("Home"); must(view.round === 0, "Home");
    press("ArrowRight"); must(view.round === 1, "right");
    press("End"); must(view.round === end, "End");
    press("ArrowLeft"); must(view.round === end - 1, "left");
    element("scrub").value = 1; element("scrub").dispatchEvent(new Event("input")); must(view.round === 1, "scrub");
    press("Home"); press(" "); must(view.playing, "space plays");
    while (view.playing) await later();
    must(view.round === end, "playing goes to the end");

    set("block", 7);
    must(view.changes.length === Math.ceil(data.n / 7), "blocks of 7");
    press("ArrowRight", element("blocks"));
    must(element("block-state").textContent.startsWith("Block 0"), "a block can be reached with keys");
    set("k", 0);
    must(element("state").textContent.includes("K must be"), "a K of 0 is told");
    say("passed");
  } catch (error) {
    say(`failed: ${error.message}`);
  }
})();
"#;

fn chromium() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let found = named.or_else(|| {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|file| file.is_file())
    });
    if found.is_none() {
        let required = env::var_os("KMEANS_REQUIRE_CHROMIUM").is_some_and(|v| v == "1");
        assert!(!required, "there is no Chromium");
        eprintln!("not tested: there is no Chromium; name one in CHROMIUM");
    }
    found
}

fn kmeans(folder: &Path, line: &str) {
    let words = line.split(' ');
    let output = Command::new(env!("CARGO_BIN_EXE_kmeans")).current_dir(folder).args(words).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes points, writes their page for an element type, and tests it in a window of this size.
fn test_page(generate: &str, file: &str, element: &str, trace: &str, window: &str) {
    let Some(chromium) = chromium() else { return };
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    kmeans(path, &format!("generate {generate} {file}"));
    kmeans(path, &format!("trace {file} -o page.html --type {element} {trace}"));
    let mut expected = String::from("[");
    for (k, start, number, seed) in
        [(5, "first", 0, 0), (3, "even", 1, 0), (7, "k-means++", 4, 42), (4, "random-labels", 3, 9)]
    {
        kmeans(
            path,
            &format!(
                "fit {file} -q -o out -k {k} --init {start} --seed {seed} --changed 0.001 --max-iter 500 --empty keep --type {element}",
            ),
        );
        let text = fs::read_to_string(path.join("out.membership")).unwrap();
        let labels: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
        write!(expected, "{{k:{k},start:{number},seed:{seed},labels:[{}]}},", labels.join(",")).unwrap();
    }
    expected.push(']');
    let page = fs::read_to_string(path.join("page.html")).unwrap();
    let script = format!("<script>const expected = {expected};\n{HARNESS}</script>\n</body>");
    fs::write(path.join("test.html"), page.replace("</body>", &script)).unwrap();

    let profile = format!("--user-data-dir={}", path.join("profile").display());
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=120000", &profile, &format!("--window-size={window}")])
        .arg(format!("file://{}", path.join("test.html").display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{console:?}");
    let dom = String::from_utf8_lossy(&output.stdout);
    let outcome = dom.split("data-test=\"").nth(1).and_then(|rest| rest.split('"').next());
    assert_eq!(outcome, Some("passed"));
}

#[test]
fn points_on_a_line_on_a_large_window() {
    test_page("-n 3000 -d 1 --blobs 0", "points.txt", "f64", "-k 6", "1280,900");
}

#[test]
fn points_in_a_plane_on_a_phone() {
    test_page("-n 2000 -d 2 --seed 4", "points.npy", "f16", "-k 4 --init k-means++ --seed 3", "390,844");
}

#[test]
fn points_in_space_and_beyond() {
    test_page(
        "-n 1500 -d 5 --spread 2",
        "points.csv",
        "f32",
        "-k 3 --init k-means|| --seed 18446744073709551615",
        "1280,900",
    );
}
