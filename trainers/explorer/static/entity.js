// One entity: its neighbors among the embeddings and its facts in the graph.

import { address, ask, byId, called, element, entityLink, knownMark, moreButton, table } from "/page.js";

const FIRST = 50;
const MOST = 10000;
let latest;

export function showEntity(entity) {
  latest = entity.name;
  byId("entity-title").replaceChildren(called(entity));
  if (entity.label) byId("entity-title").append(" ", element("small", {}, entity.name));
  const [heads, tails] = ["tail", "head"].map((asked) => sum(entity.relations[asked]));
  byId("degree").textContent =
    `In ${entity.num_facts.toLocaleString("en")} facts: head of ${heads.toLocaleString("en")}, ` +
    `tail of ${tails.toLocaleString("en")}.`;
  const near = entity.neighbors.map((other) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, ...entityLink(other)),
      element("td", {}, other.cosine.toFixed(3)),
    ),
  );
  byId("neighbors").replaceChildren(table("By the cosine of the embeddings", ["Entity", "Cosine"], near));
  showFacts(entity, FIRST);
}

function showFacts(entity, count) {
  const shown = entity.facts.length;
  const [few, all] = [shown, entity.num_facts].map((number) => number.toLocaleString("en"));
  const caption = shown < entity.num_facts ? `The first ${few} of ${all}` : `All ${all}`;
  const parts = [table(caption, ["Entity", "Known in"], grouped(entity))];
  parts[0].classList.add("facts");
  if (shown < entity.num_facts && count < MOST) {
    const more = Math.min(10 * count, MOST);
    const action = async () => {
      const found = await ask("entity", { entity: entity.name, count: more });
      if (latest === entity.name) showFacts(found, more);
    };
    parts.push(moreButton(`Show ${Math.min(more, entity.num_facts).toLocaleString("en")}`, action));
  }
  byId("facts").replaceChildren(...parts);
}

// Facts come in the order of their direction and relation. The arrow points to the tail.
function grouped(entity) {
  let last;
  return entity.facts.flatMap((fact) => {
    const asked = fact.head.name === entity.name ? "tail" : "head";
    const group = `${asked} ${fact.relation}`;
    const isNew = group !== last;
    last = group;
    return [...(isNew ? [title(entity, fact.relation, asked)] : []), row(fact, asked)];
  });
}

function title(entity, relation, asked) {
  const link = element("a", { href: address({ entity: entity.name, relation, asked }) }, relation);
  const parts = asked === "tail" ? [link, " →"] : ["← ", link];
  return element("tr", { class: "group" }, element("th", { colspan: 2 }, ...parts));
}

function row(fact, asked) {
  const cells = [entityLink(fact[asked]), [knownMark(fact.known)]];
  return element("tr", {}, ...cells.map((cell) => element("td", {}, ...cell)));
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
