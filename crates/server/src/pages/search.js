// Search and Judge.
(function () {
  "use strict";
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));

  // While a hit is hovered or focused, the same document is highlighted in other columns.
  const mark = (doc) => {
    for (const hit of all(".hit[data-doc]")) {
      hit.classList.toggle("same", doc !== null && hit.dataset.doc === doc);
    }
  };
  const marking = () => {
    const here = (event) => event.target instanceof Element && event.target.closest(".hit[data-doc]");
    for (const [begin, end] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
      document.addEventListener(begin, (event) => {
        const hit = here(event);
        if (hit) mark(hit.dataset.doc);
      });
      document.addEventListener(end, (event) => { if (here(event)) mark(null); });
    }
  };

  // An explanation is loaded once, when its hit is opened.
  const fetchExplanation = async (details) => {
    const place = details.querySelector(".fragment");
    if (!details.open || !place || details.dataset.state) return;
    details.dataset.state = "asked";
    const link = place.innerHTML;
    place.setAttribute("aria-busy", "true");
    place.textContent = "Loading …";
    try {
      const answer = await fetch(details.dataset.explain, { headers: { Accept: "text/html" } });
      if (answer.redirected) {
        // The key is no longer valid: log in, and come back to this page.
        location.assign("/login?next=" + encodeURIComponent(location.pathname + location.search));
        return;
      }
      if (!answer.ok) throw new Error("the service answered " + answer.status);
      // The server has escaped all text; parsing in a detached document runs no script either way.
      const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.replaceChildren(...parsed.body.childNodes);
    } catch (error) {
      delete details.dataset.state;
      place.innerHTML = link;
      const line = document.createElement("p");
      line.setAttribute("role", "alert");
      line.textContent = "The explanation cannot be loaded: " + error.message + ".";
      place.append(line);
    } finally {
      place.removeAttribute("aria-busy");
    }
  };

  // Addresses stay short: parameters with their default are not sent.
  const shortForms = () => {
    for (const form of all("form.search")) {
      form.addEventListener("submit", () => {
        for (const field of all("input, select", form)) {
          const usual = field.value === "" || (field.name === "k" && field.value === "10");
          if (usual && field.name !== "q") field.disabled = true;
        }
      });
      // Coming back with the browser's button finds them usable again.
      window.addEventListener("pageshow", () => {
        for (const field of all("input, select", form)) field.disabled = false;
      });
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    marking();
    shortForms();
    for (const details of all("details[data-explain]")) {
      details.addEventListener("toggle", () => fetchExplanation(details));
    }
  });
})();

// Judge: grades by key, click or touch, sent at once, undone with u.
(function () {
  "use strict";
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const NAME = "liken.judge";
  const stored = () => { try { return localStorage.getItem(NAME) || ""; } catch { return ""; } };
  const store = (name) => { try { localStorage.setItem(NAME, name); } catch { /* lasts as long as the address */ } };

  // The name is kept by the browser and carried in the address, so that the server knows whose
  // grades to show as one's own.
  const named = (form) => {
    const field = form.querySelector("input[name=judge]");
    if (!field) return;
    if (field.value) store(field.value.trim());
    else if (stored()) {
      const here = new URL(location.href);
      if (here.protocol.startsWith("http")) {
        here.searchParams.set("judge", stored());
        location.replace(here);
      }
    }
    form.addEventListener("submit", () => store(field.value.trim()));
  };

  const judging = (form) => {
    const cards = all(".card", form);
    const saved = form.querySelector("[data-saved]");
    const undone = [];
    let at = Math.max(0, cards.findIndex((card) => !card.dataset.grade));

    const show = (text, bad) => {
      saved.textContent = text;
      saved.classList.toggle("bad", !!bad);
      const said = document.getElementById("said");
      if (said) said.textContent = text;
    };
    const go = (to, focus) => {
      at = Math.min(Math.max(to, 0), cards.length - 1);
      cards.forEach((card, i) => card.classList.toggle("here", i === at));
      if (focus) {
        cards[at].focus({ preventScroll: true });
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        cards[at].scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
      }
    };
    const paint = (card, grade) => {
      if (grade === null) delete card.dataset.grade;
      else card.dataset.grade = String(grade);
      for (const button of all("button[data-g]", card)) {
        if (button.dataset.g === "-") button.hidden = grade === null;
        else button.setAttribute("aria-pressed", String(button.dataset.g === String(grade)));
      }
      const done = cards.filter((one) => one.dataset.grade !== undefined).length;
      form.querySelector("[data-done]").textContent = String(done);
      form.querySelector("progress").value = done;
    };
    // One after the other, so that the last grade given is the last one stored.
    let queue = Promise.resolve();
    const send = (card, grade, before, failed) => {
      const body = JSON.stringify([{
        query: form.dataset.query, id: card.dataset.id, grade, judge: form.dataset.judge || null,
      }]);
      show("Saving …");
      queue = queue.then(async () => {
        try {
          const answer = await fetch("/judgments", {
            method: "POST", headers: { "Content-Type": "application/json" }, body,
          });
          if (!answer.ok) {
            const problem = await answer.json().catch(() => ({}));
            throw new Error(problem.detail || "the service answered " + answer.status);
          }
          show(grade === null ? "Taken back" : "Saved: " + grade);
        } catch (error) {
          paint(card, before);
          failed();
          show("Not saved: " + error.message, true);
        }
      });
    };
    const gradeOf = (card) => (card.dataset.grade === undefined ? null : Number(card.dataset.grade));
    const grade = (index, value) => {
      const card = cards[index];
      const before = gradeOf(card);
      const entry = [index, before];
      undone.push(entry);
      paint(card, value);
      // A grade that was never stored need not be undone.
      send(card, value, before, () => {
        const place = undone.indexOf(entry);
        if (place >= 0) undone.splice(place, 1);
      });
    };
    const undo = () => {
      const last = undone.pop();
      if (!last) return show("Nothing to undo");
      const [index, before] = last;
      const now = gradeOf(cards[index]);
      paint(cards[index], before);
      send(cards[index], before, now, () => undone.push(last));
      go(index, true);
    };
    // The next without a grade, else the next.
    const onwards = (index) => {
      const open = cards.findIndex((card, i) => i > index && card.dataset.grade === undefined);
      if (open < 0 && index === cards.length - 1) {
        const next = form.querySelector("[data-next]");
        if (next) next.focus();
        return;
      }
      go(open < 0 ? index + 1 : open, true);
    };

    form.addEventListener("submit", (event) => {
      const button = event.submitter;
      const card = button && button.closest(".card");
      if (!card) return;
      event.preventDefault();
      const index = cards.indexOf(card);
      grade(index, button.dataset.g === "-" ? null : Number(button.dataset.g));
      go(index, false);
    });
    form.addEventListener("focusin", (event) => {
      const card = event.target.closest(".card");
      if (card) go(cards.indexOf(card), false);
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof Element && event.target.closest("input, textarea, select")) return;
      const max = Number(form.dataset.max);
      let used = true;
      if (/^[0-9]$/.test(event.key) && Number(event.key) <= max) {
        const index = at;
        grade(index, Number(event.key));
        onwards(index);
      } else if (event.key === "j" || event.key === "ArrowDown") go(at + 1, true);
      else if (event.key === "k" || event.key === "ArrowUp") go(at - 1, true);
      else if (event.key === "u") undo();
      else if (event.key === "n") {
        const next = form.querySelector("[data-next]");
        if (next) next.click();
      } else if (event.key === "?") {
        const keys = form.querySelector(".keys");
        keys.open = !keys.open;
      } else used = false;
      if (used) event.preventDefault();
    });
    if (cards.length) go(at, false);
  };

  document.addEventListener("DOMContentLoaded", () => {
    const ask = document.querySelector("form#ask");
    if (ask) named(ask);
    const form = document.querySelector("form#judging");
    if (form) judging(form);
  });
})();
