// The page: settings, iterations, and what is shown of them.

const element = (id) => document.getElementById(id);
const PLAY_MILLISECONDS = 500;

const view = { fit: null, round: 0, playing: false, timer: 0, block: data.block, selected: -1 };
const bytes = bytesOf(data.points);
const plot = new Plot(element("plot"), drawable(bytes, data.type), data.n, data.d);
const blocks = new Blocks(element("blocks"));
const charts = { inertia: new Chart(element("inertia"), false), changed: new Chart(element("changed"), true) };

function settingsOnPage() {
  return {
    k: Number(element("k").value),
    start: Number(element("start").value),
    seed: element("seed").value,
    threshold: Number(element("threshold").value),
  };
}

// The first thing wrong with the settings, for people.
function faultIn(settings) {
  if (!Number.isInteger(settings.k) || settings.k < 1 || settings.k > data.most_clusters) return `K must be a whole number from 1 to ${data.most_clusters}`;
  if (!/^\d{1,20}$/.test(settings.seed) || BigInt(settings.seed) >= 2n ** 64n) return "the seed must be a whole number below 2^64";
  if (element("threshold").value === "" || !(settings.threshold >= 0 && settings.threshold <= 1)) return "the share must be from 0 to 1";
  const block = Number(element("block").value);
  if (!Number.isInteger(block) || block < 1) return "a block must have at least one point";
  return null;
}

// Begins again with the settings on the page.
function restart() {
  pause();
  const settings = settingsOnPage();
  const fault = faultIn(settings);
  element("state").textContent = fault ?? "";
  if (fault) return;
  view.fit.begin(settings);
  view.round = 0;
  element("numbers").tBodies[0].replaceChildren();
  show();
}

// Shows a round, making what is missing up to it.
function goTo(round) {
  while (view.fit.rounds() < round && !view.fit.ended) makeRound();
  view.round = Math.max(0, Math.min(round, view.fit.rounds()));
  show();
}

function makeRound() {
  const before = view.fit.rounds();
  view.fit.step();
  if (view.fit.rounds() === before) return;
  const record = view.fit.record(before + 1), row = element("numbers").tBodies[0].insertRow();
  for (const value of [before + 1, record.inertia, record.movement, record.changed]) row.insertCell().textContent = shortNumber(value);
}

function play() {
  view.playing = true;
  const step = () => {
    if (view.round >= view.fit.rounds() && view.fit.ended) return pause();
    goTo(view.round + 1);
    view.timer = setTimeout(step, PLAY_MILLISECONDS);
  };
  if (view.round >= view.fit.rounds() && view.fit.ended) goTo(0);
  view.timer = setTimeout(step, 0);
  showControls();
}

function pause() {
  clearTimeout(view.timer);
  view.playing = false;
  if (view.fit) showControls();
}

function toggle() {
  if (view.playing) pause();
  else play();
}

function showControls() {
  const { fit, round } = view, atEnd = round >= fit.rounds() && fit.ended;
  element("play").textContent = view.playing ? "‖ Pause" : "▶ Play";
  element("play").setAttribute("aria-label", view.playing ? "Pause" : "Play");
  element("first").disabled = element("back").disabled = round === 0;
  element("forward").disabled = element("last").disabled = atEnd;
  element("scrub").max = fit.rounds();
  element("scrub").value = round;
}

function show() {
  const { fit, round } = view;
  showControls();
  const labels = round > 0 ? fit.labels(round) : null;
  const centroids = fit.centroids(round), before = round > 0 ? fit.centroids(round - 1) : null;
  plot.draw(labels, centroids, before, fit.k);
  const changes = labels
    ? changesByBlock(labels, round > 1 ? fit.labels(round - 1) : null, view.block)
    : new Uint32Array(Math.ceil(data.n / view.block));
  view.changes = changes;
  if (view.selected >= changes.length) view.selected = -1;
  blocks.draw(changes, view.block, data.n, view.selected);
  showBlock();
  const records = Array.from({ length: fit.rounds() }, (_, i) => fit.record(i + 1));
  charts.inertia.draw(records.map((r) => r.inertia), round);
  charts.changed.draw(records.map((r) => r.changed), round);
  const rows = element("numbers").tBodies[0].rows;
  for (let i = 0; i < rows.length; i++) rows[i].classList.toggle("now", i === round - 1);
  element("state").textContent = stateText(labels, changes);
}

function stateText(labels, changes) {
  const { fit, round } = view;
  if (round === 0) return `Start: ${fit.k} first centroids, no labels yet.`;
  const { inertia, changed } = fit.record(round);
  const share = changed / data.n, touched = changes.reduce((sum, c) => sum + (c > 0), 0);
  let text = `Iteration ${round}: inertia ${shortNumber(inertia)}, ${shortNumber(changed)} labels changed (${(100 * share).toPrecision(3)} %), in ${touched} of ${changes.length} blocks.`;
  if (round === fit.rounds() && fit.ended) {
    const why = !fit.converged() ? `the cap of ${data.max_iter} iterations` : changed === 0 ? "no label changed" : `fewer than ${element("threshold").value} of the points changed`;
    text += ` Ended: ${why}. Inertia of the result ${shortNumber(fit.result().inertia)}.`;
  }
  return text;
}

function showBlock() {
  const b = view.selected;
  if (b < 0) return element("block-state").replaceChildren(`${view.changes.length} blocks. Point at one, or use the arrow keys in it.`);
  const first = b * view.block, size = Math.min(view.block, data.n - first);
  element("block-state").textContent = `Block ${b}, points ${first} to ${first + size - 1}: ${view.changes[b]} of ${size} labels changed.`;
}

function select(block) {
  if (block === view.selected) return;
  view.selected = block;
  blocks.draw(view.changes, view.block, data.n, view.selected);
  showBlock();
}

function legend() {
  element("legend").replaceChildren("none ", Object.assign(document.createElement("span"), { className: "swatch" }), " all");
  const steps = [0, 0.001, 0.1, 0.25, 0.5, 1].map((share) => `${shade(share)} ${share * 100}%`);
  element("legend").querySelector("span").style.background = `linear-gradient(to right, ${steps.join(", ")})`;
}

function listen() {
  for (const id of ["k", "start", "seed", "threshold"]) element(id).addEventListener("change", restart);
  element("block").addEventListener("change", () => {
    const fault = faultIn(settingsOnPage());
    if (fault) {
      element("state").textContent = fault;
      return;
    }
    view.block = Number(element("block").value);
    view.selected = -1;
    show();
  });
  element("settings").addEventListener("submit", (event) => event.preventDefault());
  const moves = { first: () => goTo(0), back: () => goTo(view.round - 1), forward: () => goTo(view.round + 1), last: () => goTo(Infinity) };
  for (const [id, move] of Object.entries(moves)) {
    element(id).addEventListener("click", () => {
      pause();
      move();
    });
  }
  element("play").addEventListener("click", toggle);
  element("scrub").addEventListener("input", () => {
    // Pausing puts the slider back to where the view is.
    const round = Number(element("scrub").value);
    pause();
    goTo(round);
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || ["INPUT", "SELECT", "CANVAS", "SUMMARY"].includes(event.target.tagName)) return;
    // A button takes the space bar for itself.
    if (event.key === " " && event.target.tagName === "BUTTON") return;
    const keys = { " ": toggle, ArrowLeft: moves.back, ArrowRight: moves.forward, Home: moves.first, End: moves.last };
    if (!keys[event.key]) return;
    event.preventDefault();
    if (event.key !== " ") pause();
    keys[event.key]();
  });
  listenToCanvases();
  isDark.addEventListener("change", () => {
    legend();
    show();
  });
  // Drawing changes the height: only another width is news.
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === width) return;
    width = contentRect.width;
    requestAnimationFrame(show);
  }).observe(document.querySelector("main"));
}

function listenToCanvases() {
  const canvas = element("blocks");
  canvas.addEventListener("pointermove", (event) => select(blocks.at(event.offsetX, event.offsetY)));
  canvas.addEventListener("pointerdown", (event) => select(blocks.at(event.offsetX, event.offsetY)));
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -blocks.columns, ArrowDown: blocks.columns }[event.key];
    if (!by) return;
    event.preventDefault();
    select(Math.min(blocks.count - 1, Math.max(0, (view.selected < 0 ? 0 : view.selected) + (view.selected < 0 ? 0 : by))));
  });
  for (const chart of Object.values(charts)) {
    chart.canvas.addEventListener("click", (event) => {
      pause();
      goTo(Math.min(chart.at(event.offsetX), view.fit.rounds()));
    });
  }
  if (data.d < 3) return;
  const turn = (across, up) => {
    plot.turn += across;
    plot.tilt = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, plot.tilt + up));
    show();
  };
  const shown = element("plot");
  let drag = null;
  shown.addEventListener("pointerdown", (event) => {
    drag = [event.clientX, event.clientY];
    shown.setPointerCapture(event.pointerId);
  });
  shown.addEventListener("pointermove", (event) => {
    if (!drag) return;
    turn((event.clientX - drag[0]) / 120, (event.clientY - drag[1]) / 120);
    drag = [event.clientX, event.clientY];
  });
  for (const end of ["pointerup", "pointercancel"]) shown.addEventListener(end, () => (drag = null));
  shown.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (!by) return;
    event.preventDefault();
    turn(...by);
  });
}

// Which columns are drawn, where there are more than can be.
function chooseAxes() {
  if (data.d <= 3) return;
  element("axes").hidden = false;
  ["axis-x", "axis-y", "axis-z"].forEach((id, axis) => {
    for (let column = 0; column < data.d; column++) element(id).add(new Option(data.columns[column], column));
    element(id).value = plot.axes[axis];
    element(id).addEventListener("change", () => {
      plot.axes[axis] = Number(element(id).value);
      show();
    });
  });
}

// Runs the fit that the page was written with to its end, a few rounds at a time, and compares it with the library's.
async function check() {
  const { expected } = data;
  while (!view.fit.ended) {
    makeRound();
    element("check").textContent = `Comparing with the library: iteration ${view.fit.rounds()} of ${expected.iterations} …`;
    showControls();
    await new Promise((resume) => setTimeout(resume, 0));
  }
  const found = differences(view.fit);
  element("check").className = found.length === 0 ? "good" : "bad";
  element("check").textContent = found.length === 0
    ? `✓ Checked here, and before this page was written: the run on this page equals the library's (${expected.engine}) bit for bit: ${expected.iterations} iterations, every inertia, all ${shortNumber(data.n)} labels.`
    : `✗ The run on this page differs from the library's: ${found.join("; ")}.`;
  return found.length === 0;
}

async function main() {
  const s = (count) => (count === 1 ? "" : "s");
  element("about").textContent = `${data.file}: ${shortNumber(data.n)} point${s(data.n)} of ${data.d} column${s(data.d)}, ${data.type}. The code that runs here is kmeans-core, compiled to WebAssembly (kmeans ${data.version}).`;
  element("k").max = data.most_clusters;
  for (const [id, value] of Object.entries({ k: data.k, start: data.start, seed: data.seed, threshold: data.threshold, block: data.block })) element(id).value = value;
  element("points-note").textContent = data.d === 1 ? "Across: the value. Down: the order in the file. Lines: centroids."
    : data.d === 2 ? `Across: ${data.columns[0]}. Up: ${data.columns[1]}. Lines: the way of each centroid in this iteration.`
      : "Seen at an angle: drag to turn. Lines: the way of each centroid in this iteration.";
  chooseAxes();
  legend();
  view.fit = await Fit.load(bytes);
  const settings = [...element("settings").elements];
  settings.forEach((control) => (control.disabled = true));
  restart();
  listen();
  await check();
  settings.forEach((control) => (control.disabled = false));
  show();
}

main().catch((error) => {
  element("check").className = "bad";
  element("check").textContent = `✗ This page does not work in this browser: ${error.message}`;
  throw error;
});
