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
  history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  const { title, ...facts } = data[id];
  document.getElementById("cell-title").textContent = title;
  const list = document.getElementById("facts");
  list.replaceChildren();
  for (const [name, text] of Object.entries(facts)) {
    add(list, "dt", name);
    if (!text.startsWith("transferbench ")) {
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

/* Numbers before texts, the best first, nothing last; a column that is sorted already is turned round. */
function sort(head) {
  const table = head.closest("table");
  const column = head.cellIndex;
  const numeric = head.classList.contains("n");
  const now = head.getAttribute("aria-sort");
  const down = now ? now === "ascending" : numeric && !("low" in head.dataset);
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => {
    const cell = row.cells[column];
    const text = cell.dataset.sort ?? cell.textContent.trim();
    if (!numeric) return text;
    const number = parseFloat(text.replace(/^[[+×\s]+/, "").replace("−", "-").replaceAll(",", ""));
    return isNaN(number) ? null : number;
  };
  for (const body of table.tBodies) {
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return down ? -order : order;
    });
    body.append(...rows.map(([, row]) => row));
  }
}

/* The place that the address names: unfold it; of a cell, mark its row and its column, and open it. */
function mark() {
  const name = location.hash.slice(1);
  const cell = document.getElementById(name) ?? document.getElementById(decoded(name));
  for (let one = cell?.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  if (!cell?.matches(".results td")) return;
  for (const one of document.querySelectorAll(".found")) one.classList.remove("found");
  const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex];
  for (const one of [cell, cell.parentElement.cells[0], head]) one.classList.add("found");
  cell.scrollIntoView({ block: "center", inline: "center" });
  cell.querySelector("button")?.focus({ preventScroll: true });
  if (cell.querySelector("button")) open(cell);
}
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
addEventListener("hashchange", mark);
addEventListener("load", mark);

/* The documentation has a switch of colours, which holds here, too. */
function colour(theme) {
  if (theme !== "dark" && theme !== "light") return;
  document.documentElement.style.colorScheme = theme;
  for (const { media } of document.styleSheets[0].cssRules) {
    if (media?.mediaText.includes("prefers-color-scheme")) media.mediaText = theme === "dark" ? "screen" : "not all";
  }
}
try {
  colour(localStorage.getItem("theme"));
} catch {
  /* The browser keeps nothing for this page. */
}

/* The field at the top of each page: the index searches. */
document.getElementById("find")?.addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(`index.html?${new URLSearchParams(new FormData(event.target))}`);
});

/* The index: filter the experiments, their claims and what has no verdict. */
function filterBy(filter) {
  const entries = [...document.querySelectorAll("li[data-paper]")];
  const outcomes = [...filter.verdict.querySelectorAll("optgroup:last-of-type option")].map((one) => one.value);
  let first = null;

  function matches(entry, { paper, method, verdict }, words) {
    const facts = data[entry.id.slice(3)];
    if (paper && entry.dataset.paper !== paper) return false;
    if (method && !facts.models.includes(method)) return false;
    const isJudged = ([name, word]) => (!method || name === method) && word === verdict;
    const found = !verdict || facts.outcomes.includes(verdict) || facts.judged.some(isJudged);
    return found && words.every((word) => facts.words.includes(word));
  }

  function show() {
    const by = Object.fromEntries(new FormData(filter));
    const words = by.text.toLowerCase().split(/\s+/).filter(Boolean);
    for (const entry of entries) entry.hidden = !matches(entry, by, words);
    const shown = entries.filter((one) => !one.hidden);
    for (const one of document.querySelectorAll("[data-of]")) {
      const outcome = one.querySelector("[data-sort]")?.dataset.sort;
      const other = outcome && outcomes.includes(by.verdict) && outcome !== by.verdict;
      one.hidden = document.getElementById(`of/${one.dataset.of}`).hidden || Boolean(other);
    }
    for (const group of document.querySelectorAll(".group")) {
      group.hidden = !group.querySelector("[data-paper]:not([hidden]), [data-of]:not([hidden])");
    }
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

/* A board: its tasks of one corpus, and the methods of a kind whose names have the text. */
for (const board of document.querySelectorAll("form.board")) {
  const table = board.parentElement.querySelector("table");
  const show = () => {
    const { text, kind, corpus } = Object.fromEntries(new FormData(board));
    for (const body of table.tBodies) body.hidden = body.dataset.corpus !== corpus;
    for (const row of table.querySelectorAll("tbody tr")) {
      const hasText = row.cells[0].textContent.toLowerCase().includes(text.trim().toLowerCase());
      row.hidden = !hasText || Boolean(kind && row.dataset.kind !== kind);
    }
    const rows = [...table.querySelector("tbody:not([hidden])").rows];
    const count = rows.filter((row) => !row.hidden).length;
    board.querySelector(".shown").textContent = `${count} of ${rows.length} methods`;
  };
  board.addEventListener("input", show);
  board.addEventListener("reset", () => setTimeout(show));
  board.addEventListener("submit", (event) => event.preventDefault());
  show();
}

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
