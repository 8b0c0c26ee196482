// What scrolls has to be reachable by the keyboard: it gets a stop of the tab key.
document.addEventListener("DOMContentLoaded", () => {
  const mark = () => {
    for (const box of document.querySelectorAll("div.highlight pre, .table-wrapper, div.math")) {
      if (box.scrollWidth > box.clientWidth) {
        box.setAttribute("tabindex", "0");
      }
    }
  };
  mark();
  window.addEventListener("resize", mark);
});
