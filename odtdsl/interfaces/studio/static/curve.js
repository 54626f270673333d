// A trade-off curve whose points can be taken, by mouse or keyboard.
const SVG = "http://www.w3.org/2000/svg";

function made(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

export function drawCurve(parent, curve, take) {
  const of = curve.points.filter((one) => typeof one.measure === "number");
  const value = (one) => (Array.isArray(one.objective) ? one.objective[0] : one.objective);
  if (!of.length) {
    parent.textContent = "The curve has no points.";
    return;
  }
  const [width, height, left, edge] = [480, 260, 60, 30];
  const scale = (values, from, to) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return (x) => (high === low ? (from + to) / 2 : from + ((x - low) / (high - low)) * (to - from));
  };
  const x = scale(of.map((one) => one.measure), left, width - edge);
  const y = scale(of.map(value), height - 2 * edge, edge);
  const svg = made("svg", { viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": `${curve.stages[0]} over ${curve.measure}` });
  svg.append(
    made("line", { x1: left, y1: height - edge * 1.5, x2: width - edge, y2: height - edge * 1.5 }),
    made("line", { x1: left - 12, y1: edge, x2: left - 12, y2: height - edge * 1.5 }),
    made("text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, `${curve.measure} (${curve.op})`),
    made("text", { x: 4, y: 14 }, curve.stages[0]),
    made("path", { d: of.map((one, i) => `${i ? "L" : "M"}${x(one.measure)} ${y(value(one))}`).join("") }),
  );
  const shown = (number) => Number(number.toPrecision(4));
  let last = -Infinity; // numbers at the axis, as far as they do not stand in each other
  for (const one of [...of].sort((a, b) => a.measure - b.measure)) {
    const name = `${curve.measure} ${shown(curve.percent ? 100 * one.measure : one.measure)}` +
      `${curve.percent ? "%" : ""}: objective ${shown(value(one))}. Take it.`;
    const dot = made("circle", { cx: x(one.measure), cy: y(value(one)), r: 7, tabindex: 0,
      role: "button", "aria-label": name });
    dot.append(made("title", {}, name));
    const taken = () => take(curve.rule, one.measure, curve.percent);
    dot.addEventListener("click", taken);
    dot.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        taken();
      }
    });
    svg.append(dot, made("text", { x: x(one.measure), y: y(value(one)) - 11, "text-anchor": "middle" },
      `${shown(value(one))}`));
    if (x(one.measure) - last >= 52) {
      last = x(one.measure);
      svg.append(made("text", { x: last, y: height - edge * 1.5 + 15, "text-anchor": "middle" },
        `${shown(curve.percent ? 100 * one.measure : one.measure)}${curve.percent ? "%" : ""}`));
    }
  }
  parent.replaceChildren(svg);
}
