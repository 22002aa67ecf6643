// A line chart as SVG: axes with round numbers, and titles.

import { element } from "/page.js";

const WIDTH = 340;
const HEIGHT = 210;
const BOX = { left: 60, right: 316, top: 12, bottom: 165 };
const MARKS = { train: "line", "valid/all": "line", "valid_sample/all": "sample" };
const NAMES = { "valid_sample/all": "sample of validation" };

export function chart({ title, unit, lines, best, isLog = false }) {
  const points = [...Object.values(lines).flat(), ...(best ? [best] : [])];
  const caption = element("figcaption", {}, title);
  if (!points.length) return element("figure", {}, caption, element("p", {}, "None yet."));
  const x = axis([0, Math.max(...points.map(([epoch]) => epoch))], [BOX.left, BOX.right], false);
  const y = axis(extent(points.map(([, value]) => value)), [BOX.bottom, BOX.top], isLog);
  const summary = best ? `; best weights: ${best[1].toFixed(4)} at epoch ${best[0]}` : "";
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `${title} over epochs${summary}`,
  });
  picture.append(...frame(x, y, unit));
  for (const [group, line] of Object.entries(lines)) picture.append(...drawn(MARKS[group], line, x, y));
  if (best) picture.append(star(x.place(best[0]), y.place(best[1])));
  return element("figure", {}, caption, picture, legend(lines, best));
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function extent(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low < high ? [low, high] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
}

function axis([low, high], [start, end], isLog) {
  const scale = isLog && low > 0 ? Math.log : (value) => value;
  const ticks = scale === Math.log ? logTicks(low, high) : linearTicks(low, high);
  const [from, to] = [Math.min(low, ticks[0]), Math.max(high, ticks[ticks.length - 1])].map(scale);
  return { ticks, place: (value) => start + ((scale(value) - from) / (to - from || 1)) * (end - start) };
}

function linearTicks(low, high) {
  const rough = (high - low) / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((round) => round * power >= rough * 0.999);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
}

function logTicks(low, high) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) powers.push(power);
  const all = powers.flatMap((power) => [1, 2, 5].map((round) => round * 10 ** power));
  const first = all.findLastIndex((tick) => tick <= low);
  const inside = all.slice(first, all.findIndex((tick) => tick >= high) + 1);
  // Decades alone where there are many.
  return inside.length <= 7 ? inside : inside.filter((_, place) => place % 3 === 0 || place === inside.length - 1);
}

function frame(x, y, unit) {
  const across = y.ticks.flatMap((tick) => [
    svg("line", { class: "grid", x1: BOX.left, x2: BOX.right, y1: y.place(tick), y2: y.place(tick) }),
    svg("text", { class: "tick", x: BOX.left - 6, y: y.place(tick) + 4, "text-anchor": "end" }, number(tick)),
  ]);
  const below = x.ticks.map((tick) =>
    svg("text", { class: "tick", x: x.place(tick), y: BOX.bottom + 17, "text-anchor": "middle" }, number(tick)),
  );
  const middle = (BOX.top + BOX.bottom) / 2;
  return [
    ...across,
    ...below,
    svg("line", { class: "axis", x1: BOX.left, x2: BOX.right, y1: BOX.bottom, y2: BOX.bottom }),
    svg("text", { x: (BOX.left + BOX.right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "Epoch"),
    svg("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, unit),
  ];
}

const number = (value) => Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 4 });

function drawn(mark, points, x, y) {
  const places = points.map(([epoch, value]) => [x.place(epoch), y.place(value)]);
  if (mark === "line" && places.length > 1) {
    return [svg("polyline", { class: "line", points: places.map((place) => place.join(",")).join(" ") })];
  }
  return places.map(([cx, cy]) => svg("circle", { class: mark === "line" ? "point" : mark, cx, cy, r: 3 }));
}

function star(x, y) {
  const corners = Array.from({ length: 10 }, (_, place) => {
    const [radius, angle] = [place % 2 ? 3 : 7, (place * Math.PI) / 5];
    return `${x + radius * Math.sin(angle)},${y - radius * Math.cos(angle)}`;
  });
  return svg("polygon", { class: "best", points: corners.join(" ") });
}

function legend(lines, best) {
  const shown = Object.keys(lines).filter((group) => NAMES[group] && lines[group].length);
  const parts = shown.map((group) => `○ ${NAMES[group]}`);
  if (best) parts.push(`★ best weights: ${best[1].toFixed(4)}`);
  return element("p", { class: "legend" }, parts.join("   "));
}
