// Compare, Model, Data and Topics.
(function () {
  "use strict";
  // Background jobs: reload until they are done, unless somebody is typing.
  const look = () => {
    const place = document.querySelector("[data-reload]");
    if (!place) return;
    setTimeout(() => {
      const typing = document.activeElement && document.activeElement.closest("input, textarea, select");
      if (typing || document.hidden) look();
      else location.reload();
    }, Number(place.dataset.reload) || 1000);
  };
  // Runs are uploaded as they are, so that they may be larger than a form.
  const upload = (form) => {
    const said = form.querySelector("[data-upload-said]");
    const file = form.querySelector("input[type=file]");
    const name = form.querySelector("input[name=name]");
    const text = form.querySelector("textarea");
    for (const place of form.querySelectorAll("[data-upload-file]")) place.hidden = false;
    file.addEventListener("change", () => {
      if (file.files.length && !name.value) name.value = file.files[0].name.slice(0, 80);
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const body = file.files.length ? file.files[0] : text.value;
      said.textContent = "Uploading …";
      try {
        const answer = await fetch("/runs?name=" + encodeURIComponent(name.value), {
          method: "POST",
          headers: { "content-type": "text/plain; charset=utf-8", accept: "application/json" },
          body,
        });
        const told = await answer.json().catch(() => ({}));
        if (!answer.ok) {
          said.textContent = told.detail || "The upload failed: " + answer.status;
          return;
        }
        location.assign(told.compare || "/compare");
      } catch (error) {
        said.textContent = "The server cannot be reached: " + error;
      }
    });
  };
  document.addEventListener("DOMContentLoaded", () => {
    look();
    for (const form of document.querySelectorAll("form[data-upload]")) upload(form);
  });
})();
