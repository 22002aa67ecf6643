// The search box: a combobox as the ARIA practices describe it.

import { ask, byId, element, showError } from "/page.js";

const PAUSE = 100;
const input = byId("entity-text");
const list = byId("found");
let waiting;
let request;
let current = -1;

export function startSearch(choose) {
  const take = (option) => {
    close();
    input.value = "";
    choose(option.dataset.name);
  };
  input.addEventListener("input", () => {
    // What is listed was found for another text.
    mark(-1);
    look(PAUSE);
  });
  input.addEventListener("focus", () => look(0));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => press(event, take));
  // Before the box loses the focus, which closes the list.
  list.addEventListener("mousedown", (event) => {
    event.preventDefault();
    const option = event.target.closest("li[data-name]");
    if (option) take(option);
  });
}

function look(pause) {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    request?.abort();
    request = new AbortController();
    try {
      show((await ask("search", { text: input.value }, { signal: request.signal })).found);
    } catch (error) {
      if (error.name !== "AbortError") showError(error);
    }
  }, pause);
}

function show(found) {
  if (document.activeElement !== input) return;
  list.replaceChildren(...found.map(option));
  if (!found.length) list.append(element("li", { class: "none" }, "No name or label has this."));
  list.hidden = false;
  input.setAttribute("aria-expanded", "true");
  mark(found.length && input.value ? 0 : -1);
}

function option({ name, label }, index) {
  const made = element("li", { id: `found-${index}`, role: "option" }, label || name);
  if (label) made.append(" ", element("small", {}, name));
  made.dataset.name = name;
  return made;
}

function mark(index) {
  current = index;
  const options = [...list.querySelectorAll("li[data-name]")];
  options.forEach((made, place) => made.setAttribute("aria-selected", String(place === index)));
  options[index]?.scrollIntoView({ block: "nearest" });
  if (index < 0) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", `found-${index}`);
}

function press(event, take) {
  const options = list.querySelectorAll("li[data-name]");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") close();
  if (event.key === "Enter" && !list.hidden && options[current]) take(options[current]);
  if (!step) return;
  event.preventDefault();
  if (list.hidden) look(0);
  else if (options.length) mark((current + step + options.length) % options.length);
}

function close() {
  clearTimeout(waiting);
  request?.abort();
  list.hidden = true;
  input.setAttribute("aria-expanded", "false");
  mark(-1);
}
