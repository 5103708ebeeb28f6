// Makes pages quicker; everything works without it. One closure, no global names.
(function () {
  "use strict";
  const root = document.documentElement;
  // Storage may be forbidden (private windows); then choices last as long as the page.
  const remembered = {
    get(name) { try { return localStorage.getItem("liken." + name); } catch { return null; } },
    set(name, value) {
      try {
        if (value === null) localStorage.removeItem("liken." + name);
        else localStorage.setItem("liken." + name, value);
      } catch { /* as said */ }
    },
  };
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const say = (text) => {
    const place = document.getElementById("said");
    if (place) place.textContent = text;
  };

  // Colours: those of the system, light or dark.
  const themes = { "": "as the system has them", light: "light", dark: "dark" };
  const theme = () => (remembered.get("theme") in themes && remembered.get("theme")) || "";
  const paint = (name) => {
    if (name) root.dataset.theme = name;
    else delete root.dataset.theme;
    for (const place of all("[data-theme-name]")) place.textContent = themes[name];
    for (const place of all("[data-theme-toggle]")) place.title = "Colours: " + themes[name];
  };
  let chosen = theme();
  paint(chosen);
  const toggles = () => {
    for (const button of all("[data-theme-toggle]")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        const names = Object.keys(themes);
        chosen = names[(names.indexOf(chosen) + 1) % names.length];
        remembered.set("theme", chosen || null);
        paint(chosen);
        say("Colours: " + themes[chosen]);
      });
    }
    paint(chosen);
  };

  // Tables: a heading sorts the rows, numbers by value, anything else by text.
  const key = (cell) => {
    if (!cell) return "";
    const given = cell.dataset.key;
    if (given !== undefined) return Number(given);
    const text = cell.textContent.trim();
    const number = Number(text.replace("−", "-").replace(/,/g, ""));
    return text !== "" && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") {
      // Cells without a number come last in either order.
      return (Number.isNaN(a) ? -Infinity : a) - (Number.isNaN(b) ? -Infinity : b) || 0;
    }
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const sortable = (table) => {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      if (head.querySelector("button, a") || !head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.classList.contains("n") ? "descending" : "ascending";
        const second = first === "descending" ? "ascending" : "descending";
        const order = head.getAttribute("aria-sort") === first ? second : first;
        const sign = order === "ascending" ? 1 : -1;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        for (const body of table.tBodies) {
          const rows = Array.from(body.rows).map((row, at) => ({ row, at, key: key(row.cells[column]) }));
          rows.sort((a, b) => sign * compare(a.key, b.key) || a.at - b.at);
          body.append(...rows.map((entry) => entry.row));
        }
        say("Sorted by " + button.textContent.trim() + ", " + order);
      });
    });
  };

  // Keys that work everywhere: / goes to the search box.
  const typing = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const box = document.querySelector("input[type=search]");
    if (box) {
      event.preventDefault();
      box.focus();
      box.select();
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    toggles();
    all("table.sortable").forEach(sortable);
  });
})();
