// What the theme leaves out for keyboards and screen readers.
document.addEventListener("DOMContentLoaded", () => {
  document.body.prepend(document.querySelector(".skip-to-content"));
  for (const caption of document.querySelectorAll("p.caption[role=heading]"))
    caption.setAttribute("aria-level", "2");
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");
  for (const box of document.querySelectorAll("pre, .table-wrapper, p:has(> img[src$='.svg']), figure:has(> img)"))
    box.tabIndex = 0;
  for (const head of document.querySelectorAll("th"))
    if (!head.textContent.trim()) head.replaceWith(document.createElement("td"));
});
