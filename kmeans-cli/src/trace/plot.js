// Drawing: the points with their centroids, and the blocks of points.

// A canvas as large as it is shown, in device pixels.
function fitted(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * scale));
  canvas.style.height = `${height}px`;
  const pixels = Math.max(1, Math.round(height * scale));
  if (canvas.width !== width || canvas.height !== pixels) {
    canvas.width = width;
    canvas.height = pixels;
  }
  return { context: canvas.getContext("2d"), width, height: pixels, scale };
}

function theme(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function rgbOf(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

const isDark = window.matchMedia("(prefers-color-scheme: dark)");

// The colour of a cluster: hues a golden angle apart, so that neighbours in number are far apart in hue.
function clusterColour(cluster) {
  const hue = (cluster * 137.508 + 210) % 360;
  const saturation = 0.72, lightness = (isDark.matches ? 0.64 : 0.44) + (Math.floor(cluster / 8) % 3 - 1) * 0.07;
  const chroma = saturation * Math.min(lightness, 1 - lightness);
  return [0, 8, 4].map((shift) => {
    const at = (shift + hue / 30) % 12;
    return Math.round(255 * (lightness - chroma * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  });
}

class Plot {
  constructor(canvas, values, n, d) {
    Object.assign(this, { canvas, values, n, d });
    this.axes = d === 1 ? [0] : d === 2 ? [0, 1] : [0, 1, 2];
    this.turn = -0.6;
    this.tilt = 0.5;
    this.ranges = Array.from({ length: d }, (_, column) => {
      let low = Infinity, high = -Infinity;
      for (let i = column; i < values.length; i += d) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
      }
      return high > low ? [low, high] : [low - 0.5, high + 0.5];
    });
  }

  // A function from a row (and its number) to a place in the unit square, y downwards.
  projection() {
    const unit = (column, value) => (value - this.ranges[column][0]) / (this.ranges[column][1] - this.ranges[column][0]);
    const [a, b, c] = this.axes;
    if (this.d === 1) return (at, values, row, rows) => [unit(0, values[at]), (row + 0.5) / rows];
    if (this.axes.length === 2) return (at, values) => [unit(a, values[at + a]), 1 - unit(b, values[at + b])];
    const [cosTurn, sinTurn] = [Math.cos(this.turn), Math.sin(this.turn)];
    const [cosTilt, sinTilt] = [Math.cos(this.tilt), Math.sin(this.tilt)];
    // Orthographic; the cube's diagonal fits whichever way it is turned.
    return (at, values) => {
      const x = unit(a, values[at + a]) - 0.5, y = unit(b, values[at + b]) - 0.5, z = unit(c, values[at + c]) - 0.5;
      const across = cosTurn * x + sinTurn * z, deep = cosTurn * z - sinTurn * x;
      return [0.5 + across / 1.5, 0.5 - (cosTilt * y - sinTilt * deep) / 1.5];
    };
  }

  // Points, coloured by `labels` if there are any; centroids, with the way they came from `before` if that is given.
  draw(labels, centroids, before, k) {
    const height = Math.min(520, Math.max(260, Math.round(this.canvas.clientWidth * 0.8)));
    const { context, width, height: pixels, scale } = fitted(this.canvas, height);
    const margin = 18 * scale, place = this.projection();
    const [w, h] = [width - 2 * margin, pixels - 2 * margin];
    const image = context.createImageData(width, pixels);
    const [red, green, blue] = rgbOf(theme("panel"));
    const dots = image.data;
    for (let i = 0; i < dots.length; i += 4) {
      dots[i] = red; dots[i + 1] = green; dots[i + 2] = blue; dots[i + 3] = 255;
    }
    const colours = Array.from({ length: k }, (_, cluster) => clusterColour(cluster));
    const plain = rgbOf(theme("quiet"));
    const side = Math.max(1, Math.round((this.n < 2000 ? 4 : this.n < 20000 ? 2 : 1) * scale));
    for (let i = 0; i < this.n; i++) {
      const [x, y] = place(i * this.d, this.values, i, this.n);
      const colour = labels ? colours[labels[i]] : plain;
      const left = Math.round(margin + x * w - side / 2), top = Math.round(margin + y * h - side / 2);
      for (let py = Math.max(0, top); py < Math.min(pixels, top + side); py++) {
        for (let px = Math.max(0, left); px < Math.min(width, left + side); px++) {
          const at = (py * width + px) * 4;
          dots[at] = colour[0]; dots[at + 1] = colour[1]; dots[at + 2] = colour[2];
        }
      }
    }
    context.putImageData(image, 0, 0);
    this.drawCentroids(context, { place, margin, w, h, scale, pixels }, centroids, before, k, colours);
    this.drawRanges(context, { margin, width, pixels, scale });
  }

  drawCentroids(context, { place, margin, w, h, scale, pixels }, centroids, before, k, colours) {
    const [paper, ink] = [theme("paper"), theme("ink")];
    const at = (values, cluster) => {
      const [x, y] = place(cluster * this.d, values, cluster, k);
      return [margin + x * w, margin + y * h];
    };
    context.lineWidth = 1.5 * scale;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let cluster = 0; cluster < k; cluster++) {
      const [x, y] = at(centroids, cluster);
      const colour = `rgb(${colours[cluster].join(" ")})`;
      context.strokeStyle = ink;
      if (this.d === 1) {
        context.strokeStyle = colour;
        context.beginPath();
        context.moveTo(x, margin / 2);
        context.lineTo(x, pixels - margin / 2);
        context.stroke();
      }
      if (before) {
        const [fromX, fromY] = at(before, cluster);
        context.strokeStyle = ink;
        context.beginPath();
        context.moveTo(fromX, fromY);
        context.lineTo(x, y);
        context.stroke();
      }
      const radius = (k <= 40 ? 9 : 4) * scale;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fillStyle = paper;
      context.fill();
      context.strokeStyle = colour;
      context.lineWidth = 3 * scale;
      context.stroke();
      context.lineWidth = 1.5 * scale;
      if (k <= 40) {
        context.fillStyle = ink;
        context.font = `${10 * scale}px system-ui, sans-serif`;
        context.fillText(String(cluster), x, y + 0.5 * scale);
      }
    }
  }

  // The ends of the axes, where they are straight.
  drawRanges(context, { margin, width, pixels, scale }) {
    if (this.axes.length > 2) return;
    const text = (value) => Number(value.toPrecision(4)).toString();
    context.fillStyle = theme("quiet");
    context.font = `${11 * scale}px system-ui, sans-serif`;
    context.textBaseline = "bottom";
    const [low, high] = this.ranges[this.axes[0]];
    context.textAlign = "left";
    context.fillText(text(low), margin, pixels - 2 * scale);
    context.textAlign = "right";
    context.fillText(text(high), width - margin, pixels - 2 * scale);
    if (this.axes.length < 2) return;
    const [bottom, top] = this.ranges[this.axes[1]];
    context.textAlign = "left";
    context.fillText(text(bottom), 2 * scale, pixels - margin);
    context.fillText(text(top), 2 * scale, margin);
  }
}

// How many labels changed in each block of points.
function changesByBlock(labels, before, block) {
  const changes = new Uint32Array(Math.ceil(labels.length / block));
  for (let i = 0; i < labels.length; i++) {
    if (!before || labels[i] !== before[i]) changes[Math.floor(i / block)]++;
  }
  return changes;
}

// The colour of a share of changed labels. The root makes one point of a block visible.
function shade(share) {
  const from = rgbOf(theme("line")), to = isDark.matches ? [255, 196, 84] : [178, 58, 0];
  const t = share === 0 ? 0 : 0.15 + 0.85 * Math.sqrt(share);
  return `rgb(${from.map((v, i) => Math.round(v + (to[i] - v) * t)).join(" ")})`;
}

class Blocks {
  constructor(canvas) {
    this.canvas = canvas;
    this.columns = 1;
    this.cell = 16;
    this.count = 0;
  }

  draw(changes, block, n, selected) {
    this.count = changes.length;
    const width = Math.max(1, this.canvas.clientWidth);
    // As large as lets all blocks fit into a view of this height.
    let cell = 18;
    while (cell > 3 && Math.ceil(this.count / Math.floor(width / cell)) * cell > 260) cell--;
    this.cell = cell;
    this.columns = Math.max(1, Math.floor(width / cell));
    const rows = Math.ceil(this.count / this.columns);
    const { context, scale } = fitted(this.canvas, Math.max(cell, rows * cell));
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const gap = cell > 6 ? 2 : cell > 3 ? 1 : 0;
    for (let b = 0; b < this.count; b++) {
      const size = Math.min(block, n - b * block);
      context.fillStyle = shade(changes[b] / size);
      const [x, y] = [(b % this.columns) * cell, Math.floor(b / this.columns) * cell];
      context.fillRect(x * scale, y * scale, (cell - gap) * scale, (cell - gap) * scale);
      if (b === selected) {
        context.strokeStyle = theme("ink");
        context.lineWidth = 2 * scale;
        context.strokeRect((x + 0.5) * scale, (y + 0.5) * scale, (cell - gap - 1) * scale, (cell - gap - 1) * scale);
      }
    }
  }

  // The block at a place in the canvas, or -1.
  at(x, y) {
    const column = Math.floor(x / this.cell), block = Math.floor(y / this.cell) * this.columns + column;
    return column < this.columns && block >= 0 && block < this.count ? block : -1;
  }
}
