// The run as a whole: learning curves, test figures, settings.

import { chart } from "/chart.js";
import { address, ask, byId, called, element, figures, state, table } from "/page.js";

const CHARTS = [
  { metric: "loss", title: "Training loss", unit: "Loss per triple", isLog: true },
  { metric: "mrr", title: "Validation MRR", unit: "MRR" },
  { metric: "hits@10", title: "Validation Hits@10", unit: "Hits@10" },
];

export function showRun(run) {
  byId("home").textContent = run.name;
  byId("home").href = address({});
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

export function showExamples(examples) {
  const links = examples.map(({ entity, relation }) => {
    const href = address({ entity: entity.name, relation, asked: "tail" });
    return element("li", {}, element("a", { href }, `(${called(entity)}, ${relation}, ?)`));
  });
  byId("examples").replaceChildren(element("p", {}, "For example:"), element("ul", {}, ...links));
}

// Several runs: a choice, and their test figures below each other.
export async function showRuns() {
  const { runs } = await ask("runs");
  if (runs.length < 2) return;
  const options = runs.map(({ title }) => element("option", { value: title }, title));
  const choice = element("select", {}, ...options);
  choice.value = state().run || runs[0].title;
  choice.addEventListener("change", () => {
    location.assign(`/?${new URLSearchParams({ ...state(), run: choice.value })}`);
  });
  byId("choice").replaceChildren(element("label", {}, "Run ", choice));
  const tested = runs.filter(({ test }) => test.length);
  if (!tested.length) return;
  const rows = tested.map(({ title, test }) => figures(title, test[1].slice(1)));
  const caption = "All runs: test split, filtered, heads and tails";
  byId("all-runs").replaceChildren(table(caption, tested[0].test[0], rows));
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

function list(title, values, isOpen) {
  const pairs = Object.entries(values).flatMap(([name, value]) => [
    element("dt", {}, name),
    element("dd", {}, String(value)),
  ]);
  const summary = element("summary", {}, title);
  return element("details", isOpen ? { open: "" } : {}, summary, element("dl", {}, ...pairs));
}
