// Drawing: a number by iteration.

class Chart {
  // `logarithmic`: for numbers that fall by orders of magnitude, and may be 0 at the end.
  constructor(canvas, logarithmic) {
    this.canvas = canvas;
    this.logarithmic = logarithmic;
    this.last = 1;
  }

  draw(values, now) {
    const { context, width, height, scale } = fitted(this.canvas, 120);
    context.clearRect(0, 0, width, height);
    this.last = Math.max(1, values.length);
    const left = 8 * scale, top = 16 * scale, w = width - 2 * left, h = height - top - 10 * scale;
    const bend = this.logarithmic ? (v) => Math.log10(1 + v) : (v) => v;
    const bent = values.map(bend);
    const [low, high] = [Math.min(...bent), Math.max(...bent)];
    const x = (i) => left + (values.length < 2 ? 0.5 : i / (values.length - 1)) * w;
    const y = (v) => top + (high > low ? 1 - (v - low) / (high - low) : 0.5) * h;
    context.font = `${11 * scale}px system-ui, sans-serif`;
    context.fillStyle = theme("quiet");
    context.textBaseline = "top";
    if (values.length === 0) {
      context.textAlign = "left";
      context.fillText("no iteration yet", left, 2 * scale);
      return;
    }
    context.strokeStyle = theme("accent");
    context.lineWidth = 1.5 * scale;
    context.beginPath();
    bent.forEach((v, i) => (i === 0 ? context.moveTo(x(i), y(v)) : context.lineTo(x(i), y(v))));
    context.stroke();
    const dot = (i, radius) => {
      context.beginPath();
      context.arc(x(i), y(bent[i]), radius * scale, 0, 2 * Math.PI);
      context.fill();
    };
    context.fillStyle = theme("accent");
    if (values.length <= 60) bent.forEach((_, i) => dot(i, 2));
    if (now >= 1) {
      dot(now - 1, 5);
      context.fillStyle = theme("ink");
      context.textAlign = "right";
      context.fillText(`${now}: ${shortNumber(values[now - 1])}`, width - left, 1 * scale);
    }
  }

  // The iteration at a place in the canvas.
  at(x) {
    const share = (x - 8) / Math.max(1, this.canvas.clientWidth - 16);
    return 1 + Math.round(Math.min(1, Math.max(0, share)) * (this.last - 1));
  }
}

function shortNumber(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  return Math.abs(value) >= 1e7 || Math.abs(value) < 1e-3 ? value.toExponential(6) : Number(value.toPrecision(9)).toLocaleString("en", { maximumFractionDigits: 9 });
}
