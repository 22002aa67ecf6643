// What all parts share: elements, links, requests. Names are data of somebody else: they reach the
// page as text nodes and as parameters of a URL, never as HTML.

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// The state of the page is its URL: run, entity, relation, asked, known, seen.
export const state = () => Object.fromEntries(new URLSearchParams(location.search));

// Every link and request stays with the run.
const ofRun = (values) => (state().run ? { run: state().run, ...values } : values);

export const address = (changes) => `/?${new URLSearchParams(ofRun(changes))}`;

export const called = (entity) => entity.label || entity.name;

export function entityLink(entity) {
  const link = element("a", { href: address({ entity: entity.name }) }, called(entity));
  return entity.label ? [link, " ", element("small", {}, entity.name)] : [link];
}

// Shape, word and colour say the same.
const SHAPES = { train: "●", valid: "▲", test: "◆" };

export function knownMark(split) {
  if (!split) return "";
  const shape = element("span", { class: split, "aria-hidden": "true" }, SHAPES[split]);
  return element("span", { class: "known" }, shape, ` ${split}`);
}

export function table(caption, titles, rows) {
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, head),
    element("tbody", {}, ...rows),
  );
}

export function figures(title, cells) {
  const shown = cells.map((cell) => element("td", {}, cell));
  return element("tr", {}, element("th", { scope: "row" }, title), ...shown);
}

export function moreButton(text, action) {
  const button = element("button", { type: "button" }, text);
  button.addEventListener("click", async () => {
    const links = button.parentElement.getElementsByTagName("a");
    const shown = links.length;
    try {
      await action();
      // The button has gone, and its focus with it, unless a reader has moved on by now.
      if (document.activeElement === document.body) links[shown]?.focus();
    } catch (error) {
      showError(error);
    }
  });
  return button;
}

export async function ask(question, parameters = {}, options = {}) {
  const response = await fetch(`/api/${question}?${new URLSearchParams(ofRun(parameters))}`, options);
  if (response.ok) return response.json();
  const isTold = response.headers.get("Content-Type") === "application/json";
  throw new Error(isTold ? (await response.json()).error : "The program failed; its terminal says why.");
}

export function showError(error) {
  const message = byId("message");
  const isLost = error instanceof TypeError && /fetch/i.test(error.message);
  message.textContent = isLost ? "The program does not answer; was it ended?" : error.message;
  message.hidden = false;
}
