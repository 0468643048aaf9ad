"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const dialog = document.getElementById("cell");

function add(parent, tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  parent.append(made);
  return made;
}

function open(number) {
  const [title, ...facts] = data.cells[number].map((text) => data.texts[text]);
  document.getElementById("cell-title").textContent = title;
  const list = document.getElementById("facts");
  list.replaceChildren();
  facts.forEach((fact, i) => {
    if (!fact) return;
    add(list, "dt", data.facts[i]);
    const value = add(list, "dd", "");
    if (data.facts[i] !== "Run it again") {
      value.textContent = fact;
      return;
    }
    value.className = "command";
    const code = add(value, "code", fact);
    add(value, "button", "Copy").addEventListener("click", async (event) => {
      try {
        await navigator.clipboard.writeText(fact);
        event.target.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
      }
    });
  });
  dialog.showModal();
  dialog.scrollTop = 0;
}

document.addEventListener("click", (event) => {
  const cell = event.target.closest("[data-cell]");
  if (cell) open(Number(cell.dataset.cell));
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
