"use strict";
const cells = document.getElementById("data");
const data = cells && JSON.parse(cells.textContent);
const dialog = document.getElementById("cell");

function add(parent, tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  parent.append(made);
  return made;
}

function open({ id }) {
  const { title, ...facts } = data[id];
  document.getElementById("cell-title").textContent = title;
  const list = document.getElementById("facts");
  list.replaceChildren();
  for (const [name, text] of Object.entries(facts)) {
    add(list, "dt", name);
    if (name !== "again") {
      add(list, "dd", text);
      continue;
    }
    const value = add(list, "dd", "");
    value.className = "command";
    const code = add(value, "code", text);
    add(value, "button", "Copy").addEventListener("click", async (event) => {
      try {
        await navigator.clipboard.writeText(text);
        event.target.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
      }
    });
  }
  dialog.showModal();
  dialog.scrollTop = 0;
}

document.addEventListener("click", (event) => {
  const cell = event.target.closest("td > button");
  if (cell) open(cell.parentElement);
  const head = event.target.closest(".sortable thead button");
  if (head) sort(head.parentElement);
  if (event.target.closest("dialog .close") || event.target === dialog) dialog.close();
});

/* Numbers before texts, nothing last; a column that is sorted already is turned round. */
function sort(head) {
  const table = head.closest("table");
  const body = table.tBodies[0];
  const column = head.cellIndex;
  const numeric = head.classList.contains("n");
  const now = head.getAttribute("aria-sort");
  const down = now ? now === "ascending" : numeric;
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => {
    const cell = row.cells[column];
    const text = cell.dataset.sort ?? cell.textContent.trim();
    if (!numeric) return text;
    const number = parseFloat(text.replace(/^[[+×\s]+/, "").replace("−", "-").replaceAll(",", ""));
    return isNaN(number) ? null : number;
  };
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
    return down ? -order : order;
  });
  body.append(...rows.map(([, row]) => row));
}

/* The place that the address names: unfold it; of a cell, mark its row and its column. */
function mark() {
  const cell = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let one = cell?.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  if (!cell?.matches(".results td")) return;
  for (const one of document.querySelectorAll(".found")) one.classList.remove("found");
  const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex];
  for (const one of [cell, cell.parentElement.cells[0], head]) one.classList.add("found");
  cell.scrollIntoView({ block: "center", inline: "center" });
  cell.querySelector("button")?.focus({ preventScroll: true });
}
addEventListener("hashchange", mark);
addEventListener("load", mark);

/* The field at the top of each page: the index searches. */
document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(`index.html?${new URLSearchParams(new FormData(event.target))}`);
});

/* The index: filter the experiments, their claims and what has no verdict. */
function filterBy(filter) {
  const entries = [...document.querySelectorAll("li[data-paper]")];
  const outcomes = [...filter.verdict.querySelectorAll("optgroup:last-of-type option")].map((one) => one.value);
  let first = null;

  /* The cells of an experiment that count: of the method, with the verdict. */
  function counting({ judged }, { method, verdict }) {
    return judged.filter(([name, word]) => (!method || name === method) && (!verdict || word === verdict));
  }

  function matches(entry, { paper, method, verdict }, words) {
    const facts = data[entry.id];
    if (paper && entry.dataset.paper !== paper) return false;
    if (method && !facts.models.includes(method)) return false;
    const found = outcomes.includes(verdict)
      ? verdict in facts.claims || verdict in facts.by_us
      : !verdict || counting(facts, { method, verdict }).length > 0;
    return found && words.every((word) => facts.words.includes(word));
  }

  /* The numbers of each kind of badge: of all experiments shown. */
  function count(shown, by) {
    for (const list of document.querySelectorAll("[data-counts]")) {
      const sums = {};
      for (const { id } of shown) {
        const facts = data[id];
        const pairs = list.dataset.counts === "judged"
          ? counting(facts, outcomes.includes(by.verdict) ? { method: by.method } : by).map(([, ...pair]) => pair)
          : Object.entries(facts[list.dataset.counts]).filter(([word]) => !outcomes.includes(by.verdict) || word === by.verdict);
        for (const [word, number] of pairs) sums[word] = (sums[word] ?? 0) + number;
      }
      const all = Object.values(sums).reduce((sum, one) => sum + one, 0);
      for (const line of list.children) {
        const number = line.dataset.word ? (sums[line.dataset.word] ?? 0) : all;
        line.querySelector("b").textContent = number;
        line.hidden = !number;
      }
    }
  }

  function show() {
    const by = Object.fromEntries(new FormData(filter));
    const words = by.text.toLowerCase().split(/\s+/).filter(Boolean);
    for (const entry of entries) entry.hidden = !matches(entry, by, words);
    const shown = entries.filter((one) => !one.hidden);
    for (const one of document.querySelectorAll("[data-of]")) {
      const outcome = one.querySelector("[data-sort]")?.dataset.sort;
      const other = outcome && outcomes.includes(by.verdict) && outcome !== by.verdict;
      one.hidden = document.getElementById(one.dataset.of).hidden || Boolean(other);
    }
    for (const group of document.querySelectorAll(".group")) {
      group.hidden = !group.querySelector("[data-paper]:not([hidden]), [data-of]:not([hidden])");
    }
    count(shown, by);
    for (const one of document.querySelectorAll(".first")) one.classList.remove("first");
    first = words.length ? shown[0] : null;
    first?.classList.add("first");
    first?.scrollIntoView({ block: "nearest" });
    const enter = first ? "; Enter opens the marked one" : "";
    document.getElementById("shown").textContent = `${shown.length} of ${entries.length} experiments${enter}`;
  }
  filter.addEventListener("input", show);
  filter.addEventListener("reset", () => setTimeout(show));
  filter.addEventListener("submit", (event) => {
    event.preventDefault();
    if (first) location.assign(first.querySelector("a").href);
  });
  filter.text.value = new URLSearchParams(location.search).get("text") ?? filter.text.value;
  show();
}
const filter = document.getElementById("filter");
if (filter) filterBy(filter);

/* Say where a wide table goes on. */
function hint(scroll) {
  const hidden = scroll.scrollWidth - scroll.clientWidth;
  const box = scroll.parentElement;
  box.classList.toggle("more-left", scroll.scrollLeft > 1);
  box.classList.toggle("more-right", hidden - scroll.scrollLeft > 1);
  box.previousElementSibling.hidden = hidden <= 1;
}
const sizes = new ResizeObserver((entries) => entries.forEach((entry) => hint(entry.target)));
for (const scroll of document.querySelectorAll(".scroll")) {
  sizes.observe(scroll);
  scroll.addEventListener("scroll", () => hint(scroll), { passive: true });
}

/* Pictures become plots when they are near: the library is one script beside the pages. */
const described = document.getElementById("plots");
if (described) {
  const { script, config, plots } = JSON.parse(described.textContent);
  let loaded = null;
  const load = () => (loaded ??= new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = script;
    element.onload = resolve;
    element.onerror = reject;
    document.head.append(element);
  }));
  async function plot(figure) {
    try {
      await load();
    } catch {
      return; // the picture stays
    }
    const image = figure.querySelector("img");
    const grid = document.createElement("div");
    grid.className = "plots";
    grid.setAttribute("role", "group");
    grid.setAttribute("aria-label", image.alt);
    const specs = plots[figure.dataset.plot];
    image.after(grid);
    image.hidden = true;
    const { least } = specs[0].usermeta;
    if (specs.length === 1) grid.style.minWidth = `${least}px`;
    else grid.style.gridTemplateColumns = `repeat(auto-fit, minmax(min(${least}px, 100%), 1fr))`;
    const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const places = specs.map(() => add(grid, "div", "")); // all, as they share the width
    for (const [i, { usermeta, ...spec }] of specs.entries()) {
      const place = places[i];
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", spec.title ?? image.alt);
      await vegaEmbed(place, spec, { config, renderer: "svg", ast: true, actions: false, tooltip: { theme } });
    }
  }
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      plot(target);
    }
  }, { rootMargin: "200px" });
  for (const figure of document.querySelectorAll("[data-plot]")) near.observe(figure);
}

/* What is folded is printed, too. */
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not([open])")) {
    folded.open = true;
    folded.dataset.folded = "";
  }
});
addEventListener("afterprint", () => {
  for (const folded of document.querySelectorAll("details[data-folded]")) {
    folded.open = false;
    delete folded.dataset.folded;
  }
});
