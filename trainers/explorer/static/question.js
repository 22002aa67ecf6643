// The question: direction, relation, and which answers to show.

import { byId, called, element, state } from "/page.js";

const form = byId("question");
const OPTIONS = ["relation", "asked", "known", "seen"];
const PLACES = ["tail", "head"];

// Where the URL does not say it: the question to which the graph has most answers.
export function question(entity, relations) {
  const counted = PLACES.flatMap((asked) =>
    relations.map(([relation], place) => ({
      asked,
      relation,
      count: entity.relations[asked][place],
    })),
  );
  const given = state();
  if (!PLACES.includes(given.asked)) delete given.asked;
  // Of another run.
  if (!relations.some(([relation]) => relation === given.relation)) delete given.relation;
  const fits = ({ asked, relation }) =>
    (!given.asked || given.asked === asked) && (!given.relation || given.relation === relation);
  const most = counted.filter(fits).reduce((one, other) => (other.count > one.count ? other : one), {
    asked: "tail",
    count: -1,
  });
  return { known: "1", seen: "0", ...most, ...given, entity: entity.name };
}

export function showQuestion(asked, entity, relations) {
  const name = called(entity);
  const ends = asked.asked === "tail" ? [name, "?"] : ["?", name];
  byId("question-title").textContent = `(${ends[0]}, ${asked.relation}, ${ends[1]})`;
  byId("asks-tail").textContent = `${name} → ?`;
  byId("asks-head").textContent = `? → ${name}`;
  form.elements.asked.value = asked.asked;
  const options = relations.map(([relation, count], place) => {
    const here = entity.relations[asked.asked][place];
    const counts = `${count.toLocaleString("en")} facts${here ? `, ${here.toLocaleString("en")} here` : ""}`;
    return element("option", { value: relation }, `${relation} (${counts})`);
  });
  form.elements.relation.replaceChildren(...options);
  form.elements.relation.value = asked.relation;
  form.elements.known.checked = asked.known !== "0";
  form.elements.seen.checked = asked.seen === "1";
}

export function startQuestion(choose) {
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    const { relation, asked, known, seen } = form.elements;
    const values = [relation.value, asked.value, known.checked ? "1" : "0", seen.checked ? "1" : "0"];
    choose(Object.fromEntries(OPTIONS.map((name, place) => [name, values[place]])));
  });
}
