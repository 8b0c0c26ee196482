// What the theme leaves out for readers by keyboard and by ear.
document.addEventListener("DOMContentLoaded", () => {
  // On a phone broad pictures keep a size at which they can be read, and scroll.
  for (const picture of document.querySelectorAll("article section img")) {
    const box = document.createElement("div");
    box.className = "picture-box";
    const whole = picture.closest("a") ?? picture;
    if (!whole.closest(".sphx-glr-thumbnails, .thumbnails")) {
      whole.replaceWith(box);
      box.append(whole);
      const sort = () =>
        box.classList.toggle("broad", picture.naturalWidth > 1.3 * picture.naturalHeight);
      picture.addEventListener("load", sort);
      sort();
    }
  }

  // What scrolls has to be reachable by the keyboard: it gets a stop of the tab key.
  const mark = () => {
    const boxes = "div.highlight pre, .table-wrapper, div.math, .picture-box";
    for (const box of document.querySelectorAll(boxes)) {
      if (box.scrollWidth > box.clientWidth) {
        box.setAttribute("tabindex", "0");
      }
    }
  };
  mark();
  window.addEventListener("load", mark);
  window.addEventListener("resize", mark);

  // Every part of the page has a name.
  const names = {
    ".sidebar-drawer": "Pages",
    ".toc-drawer": "On this page",
    ".content-icon-container": "Source and colours",
  };
  for (const [part, name] of Object.entries(names)) {
    document.querySelector(part)?.setAttribute("aria-label", name);
  }
  document.querySelector(".content-icon-container")?.setAttribute("role", "region");
  const article = document.querySelector("article");
  if (article && !document.querySelector("h1")) {
    const title = document.createElement("h1");
    title.textContent = document.title.split(" - ")[0];
    article.prepend(title);
  }
});
