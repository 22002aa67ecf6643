// The table of ranked completions.

import { ask, byId, element, entityLink, knownMark, moreButton, table } from "/page.js";

const FIRST = 25;
const MOST = 1000;
const MEANING = "Probability: of a true triple against one corrupted at random, at even odds.";
// The question asked last: a late answer to one before must not replace it.
let latest;

export async function showAnswers(question, count = FIRST) {
  latest = question;
  byId("answers").setAttribute("aria-busy", "true");
  // What answered another question must not stand below this one; the style then says "Asking…".
  if (count === FIRST) byId("answers").replaceChildren();
  const given = { tail: "head", head: "tail" }[question.asked];
  const { answers } = await ask("answers", {
    [given]: question.entity,
    relation: question.relation,
    known: question.known,
    seen: question.seen,
    count,
  });
  if (latest !== question) return;
  const calibrated = answers.some((answer) => answer.probability !== null);
  const titles = ["Rank", "Entity", "Score", ...(calibrated ? ["Probability"] : []), "Known in"];
  const caption = calibrated ? `Most plausible first. ${MEANING}` : "Most plausible first";
  const shown = table(caption, titles, answers.map((answer, place) => row(answer, place, calibrated)));
  shown.classList.add("ranked");
  const parts = answers.length ? [shown] : [element("p", {}, "No candidates are left.")];
  if (answers.length === count && count < MOST) {
    const more = Math.min(4 * count, MOST);
    parts.push(moreButton(`Show ${more}`, () => showAnswers(question, more)));
  }
  byId("answers").replaceChildren(...parts);
  byId("answers").removeAttribute("aria-busy");
}

function row(answer, place, calibrated) {
  const cells = [
    element("td", {}, String(place + 1)),
    element("th", { scope: "row" }, ...entityLink(answer)),
    element("td", {}, answer.score.toFixed(3)),
  ];
  if (calibrated) cells.push(element("td", {}, answer.probability.toFixed(4)));
  cells.push(element("td", {}, knownMark(answer.known)));
  return element("tr", answer.known ? { class: "is-known" } : {}, ...cells);
}
