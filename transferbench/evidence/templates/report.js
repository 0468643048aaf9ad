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

const articles = [...document.querySelectorAll("article")];
const filter = document.getElementById("filter");
const words = new Map();
const claimOutcomes = [
  ...filter.verdict.querySelectorAll("optgroup:last-of-type option"),
].map((one) => one.value);

/* True if an experiment has the words and belongs to the choices. A verdict and a method: in one cell. */
function matches(article, { text, paper, method, verdict }) {
  if (paper && article.dataset.paper !== paper) return false;
  const claims = article.dataset.claims.split(" ");
  const ofClaims = claimOutcomes.includes(verdict);
  if (ofClaims && !claims.includes(verdict)) return false;
  const wanted = (found) => {
    const [name, judged] = found.split(":");
    return (!method || name === method) && (!verdict || ofClaims || judged === verdict);
  };
  if ((method || (verdict && !ofClaims)) && !article.dataset.cells.split(" ").some(wanted)) return false;
  if (!text.trim()) return true;
  if (!words.has(article)) words.set(article, article.textContent.toLowerCase());
  return text.trim().toLowerCase().split(/\s+/).every((word) => words.get(article).includes(word));
}

function show() {
  const by = Object.fromEntries(new FormData(filter));
  for (const article of articles) article.hidden = !matches(article, by);
  for (const one of document.querySelectorAll("[data-of]")) {
    const outcome = one.querySelector("[data-sort]")?.dataset.sort;
    const other = outcome && claimOutcomes.includes(by.verdict) && outcome !== by.verdict;
    one.hidden = document.getElementById(one.dataset.of).hidden || Boolean(other);
  }
  for (const group of document.querySelectorAll("section.paper, #contents .group")) {
    group.hidden = !group.querySelector("article:not([hidden]), li:not([hidden])");
  }
  const count = articles.filter((one) => !one.hidden).length;
  document.getElementById("shown").textContent = `${count} of ${articles.length} experiments`;
}
filter.addEventListener("input", show);
filter.addEventListener("reset", () => setTimeout(show));
filter.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("unfold").addEventListener("click", () => {
  for (const article of articles) article.firstElementChild.open = !article.hidden;
});
show();

/* Contents: beside the page where it is wide, else a drawer. */
const drawer = document.getElementById("drawer");
const wide = matchMedia("(min-width: 64rem)");
const place = () => { drawer.open = wide.matches; };
wide.addEventListener("change", place);
place();

/* A link to an experiment opens it, and shows it if it is filtered out. */
function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest("[hidden]")) {
    filter.reset();
    show();
  }
  const fold = target.querySelector(":scope > details.fold");
  if (fold) fold.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", follow);
follow();
document.getElementById("contents").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  if (!wide.matches) drawer.open = false;
  if (link.hash === location.hash) follow();
});

/* Mark the link to the experiment that is being read. */
const inView = new Set();
const reading = new IntersectionObserver((entries) => {
  for (const entry of entries) inView[entry.isIntersecting ? "add" : "delete"](entry.target);
  const first = articles.find((one) => inView.has(one));
  for (const link of document.querySelectorAll("#contents li[data-of] a")) {
    const current = first && link.hash === `#${first.id}`;
    if (current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    if (current && wide.matches) link.scrollIntoView({ block: "nearest" });
  }
}, { rootMargin: "-15% 0px -70% 0px" });
for (const article of articles) reading.observe(article);

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

/* A picture is decoded when its fold opens. */
function reveal(part) {
  for (const image of part.querySelectorAll("img[data-svg]")) {
    image.src = `data:image/svg+xml,${encodeURIComponent(image.dataset.svg)}`;
    image.removeAttribute("data-svg");
  }
}
document.addEventListener("toggle", (event) => event.target.open && reveal(event.target), true);

/* What is folded is printed, too. */
addEventListener("beforeprint", () => {
  reveal(document);
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
