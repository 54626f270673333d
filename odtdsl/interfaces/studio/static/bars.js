// How the rows of a column lie: in parts of its range, or at its most frequent values.
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, MOST] = [96, 22, 12];

export function drawBars({ bars, levels, low, high }) {
  const counts = bars.length ? bars : levels.slice(0, MOST).map(([, rows]) => rows);
  const svg = document.createElementNS(SVG, "svg");
  const told = bars.length
    ? `rows in ${bars.length} equal parts from ${low} to ${high}: ${bars.join(", ")}`
    : levels.slice(0, MOST).map(([text, rows]) => `${text.slice(0, 40)}: ${rows}`).join(", ");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("width", WIDTH);
  svg.setAttribute("height", HEIGHT);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", told);
  svg.classList.add("bars");
  const title = document.createElementNS(SVG, "title");
  title.textContent = told;
  svg.append(title);
  const [each, most] = [Math.min(WIDTH / counts.length, 16), Math.max(...counts)];
  counts.forEach((rows, at) => {
    const height = rows ? Math.max((rows / most) * HEIGHT, 1) : 0;
    const bar = document.createElementNS(SVG, "rect");
    const place = { x: at * each, y: HEIGHT - height, width: each - 1, height };
    for (const [key, value] of Object.entries(place)) bar.setAttribute(key, value);
    svg.append(bar);
  });
  return svg;
}
