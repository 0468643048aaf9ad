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

function open({ line, place }) {
  const { title, ...facts } = data[line][place];
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
  const cell = event.target.closest("[data-place]");
  if (cell) open(cell.dataset);
  const head = event.target.closest(".sortable thead button");
  if (head) sort(head.parentElement);
  if (event.target.closest(".close") || event.target === dialog) dialog.close();
});

/* Numbers before texts, nothing last; a column that is sorted already is turned round. */
function sort(head) {
  const table = head.closest("table");
  const body = table.tBodies[0];
  const column = head.cellIndex;
  const numeric = [...body.rows].some((row) => isFinite(parseFloat(row.cells[column].dataset.sort)));
  const now = head.getAttribute("aria-sort");
  const down = now ? now === "ascending" : numeric;
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => {
    const cell = row.cells[column];
    const text = cell.dataset.sort ?? cell.textContent.trim();
    return numeric ? (text === "" ? null : Number(text)) : text;
  };
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
    return down ? -order : order;
  });
  body.append(...rows.map(([, row]) => row));
}

/* The index: filter the experiments, their claims and what has no verdict. */
function filterBy(filter) {
  const entries = [...document.querySelectorAll("[data-cells]")];
  const outcomes = [...filter.verdict.querySelectorAll("optgroup:last-of-type option")].map((one) => one.value);

  /* A verdict and a method: in one cell. */
  function matches({ dataset }, { text, paper, method, verdict }) {
    if (paper && dataset.paper !== paper) return false;
    const ofClaims = outcomes.includes(verdict);
    if (ofClaims && !dataset.claims.split(" ").includes(verdict)) return false;
    const wanted = (found) => {
      const [name, judged] = found.split(":");
      return (!method || name === method) && (!verdict || ofClaims || judged === verdict);
    };
    if ((method || (verdict && !ofClaims)) && !dataset.cells.split(" ").some(wanted)) return false;
    return text.trim().toLowerCase().split(/\s+/).every((word) => dataset.words.includes(word));
  }

  function show() {
    const by = Object.fromEntries(new FormData(filter));
    for (const entry of entries) entry.hidden = !matches(entry, by);
    for (const one of document.querySelectorAll("[data-of]")) {
      const outcome = one.querySelector("[data-sort]")?.dataset.sort;
      const other = outcome && outcomes.includes(by.verdict) && outcome !== by.verdict;
      one.hidden = document.getElementById(one.dataset.of).hidden || Boolean(other);
    }
    for (const group of document.querySelectorAll("section.paper")) {
      group.hidden = !group.querySelector("li:not([hidden])");
    }
    const count = entries.filter((one) => !one.hidden).length;
    document.getElementById("shown").textContent = `${count} of ${entries.length} experiments`;
  }
  filter.addEventListener("input", show);
  filter.addEventListener("reset", () => setTimeout(show));
  filter.addEventListener("submit", (event) => event.preventDefault());
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
