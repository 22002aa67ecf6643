// The run as a whole: learning curves, test figures, settings.

import { chart } from "/chart.js";
import { ask, byId, element, table } from "/page.js";

const CHARTS = [
  { metric: "loss", title: "Training loss", unit: "Loss per triple", isLog: true },
  { metric: "mrr", title: "Validation MRR", unit: "MRR" },
  { metric: "hits@10", title: "Validation Hits@10", unit: "Hits@10" },
];

export function showRun(run) {
  byId("home").textContent = run.name;
  const { Entities, Relations, Model } = run.facts;
  byId("sizes").textContent = `${Model}, ${Entities} entities, ${Relations} relations`;
  if (run.test.length) {
    const rows = run.test.slice(1).map(([title, ...cells]) => figures(title, cells));
    const caption = "Test split, filtered, all entities as candidates";
    byId("test").replaceChildren(table(caption, run.test[0], rows));
  }
  byId("settings").replaceChildren(
    list("Facts of the run", run.facts, true),
    list("All settings", run.settings, false),
  );
}

export async function showCurves() {
  const curves = await ask("curves");
  byId("curves").replaceChildren(
    ...CHARTS.map((options) => {
      const best = curves.best && curves.best[options.metric];
      const point = best === null || best === undefined ? null : [curves.best.epoch, best];
      return chart({ ...options, lines: curves[options.metric], best: point });
    }),
  );
}

function figures(title, cells) {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, title),
    ...cells.map((cell) => element("td", {}, cell)),
  );
}

function list(title, values, isOpen) {
  const pairs = Object.entries(values).flatMap(([name, value]) => [
    element("dt", {}, name),
    element("dd", {}, String(value)),
  ]);
  const summary = element("summary", {}, title);
  return element("details", isOpen ? { open: "" } : {}, summary, element("dl", {}, ...pairs));
}
