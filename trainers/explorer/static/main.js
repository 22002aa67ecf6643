// Brings the URL and the parts of the page together.

import { showAnswers } from "/answers.js";
import { showEntity } from "/entity.js";
import { address, ask, byId, called, showError, state } from "/page.js";
import { question, showQuestion, startQuestion } from "/question.js";
import { showCurves, showExamples, showRun, showRuns } from "/run.js";
import { startSearch } from "/search.js";

let graph;
let relations;
let entity;
// Counts what was asked for: a late answer must not replace a newer one.
let turn = 0;

async function show() {
  const mine = ++turn;
  const wanted = state().entity;
  byId("message").hidden = true;
  byId("columns").hidden = !wanted;
  byId("examples").hidden = Boolean(wanted);
  document.title = graph;
  if (!wanted) return;
  try {
    const found = entity?.name === wanted ? entity : await ask("entity", { entity: wanted });
    if (mine !== turn) return;
    const isNew = found !== entity;
    entity = found;
    document.title = `${called(entity)}, ${graph}`;
    const asked = question(entity, relations);
    showQuestion(asked, entity, relations);
    if (isNew) showEntity(entity);
    await showAnswers(asked);
  } catch (error) {
    if (mine === turn) fail(error);
  }
}

function fail(error) {
  byId("columns").hidden = true;
  showError(error);
}

function go(changes) {
  history.pushState(null, "", address(changes));
  show();
}

function follow(event) {
  const link = event.target.closest("a");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || link.origin !== location.origin) return;
  event.preventDefault();
  go(Object.fromEntries(new URL(link.href).searchParams));
  scrollTo(0, 0);
}

async function start() {
  try {
    const run = await ask("run");
    relations = run.relations;
    graph = run.name;
    showRun(run);
    showExamples(run.examples);
    startSearch((name) => go({ entity: name }));
    startQuestion((choices) => go({ entity: entity.name, ...choices }));
    document.addEventListener("click", follow);
    addEventListener("popstate", show);
    await Promise.all([show(), showCurves(), showRuns()]);
  } catch (error) {
    showError(error);
  }
}

start();
