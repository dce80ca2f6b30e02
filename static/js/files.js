/* Files for a message: picked, dropped or pasted, sent one by one with their progress, and listed with what they are.
   It sends files and nothing else; the form that carries their ids is the page's own. */
(() => {
  "use strict";
  const one = (selector, within = document) => within.querySelector(selector);
  const UNITS = ["B", "kB", "MB", "GB"];
  const size = bytes => {
    let unit = 0;
    for (; bytes >= 1000 && unit < 3; unit += 1) bytes /= 1000;
    return `${unit ? Number(bytes.toPrecision(3)) : bytes} ${UNITS[unit]}`;
  };
  const parts = form => ({ place: one("[data-attach]", form), list: one("[data-attached]", form) });

  /* while files are on their way the message waits for them */
  const wait = form => {
    const sending = Boolean(one('[data-state="sending"]', form));
    for (const button of form.querySelectorAll("button:not([type=button])")) button.disabled = sending;
  };

  const failed = (row, words) => {
    row.dataset.state = "failed";
    one(".file__facts", row).textContent = words;
    row.setAttribute("role", "alert");
  };

  const kept = (row, { id, name, media, size: bytes }) => {
    row.dataset.state = "kept";
    row.dataset.upload = id;
    one(".file__name", row).textContent = name;
    one(".file__facts", row).textContent = `${size(bytes)} · ${media}`;
    row.append(Object.assign(document.createElement("input"), { type: "hidden", name: "upload", value: id }));
  };

  const add = (form, file) => {
    const { place, list } = parts(form);
    const row = one("[data-file]", place).content.firstElementChild.cloneNode(true);
    one(".file__name", row).textContent = file.name;
    one(".file__facts", row).textContent = `${size(file.size)} · ${file.type || "type by its name"}`;
    one("[data-detach] .visually-hidden", row).textContent = `Remove ${file.name}`;
    list.append(row);
    if (file.size > Number(place.dataset.most)) return failed(row, `${size(file.size)} is more than one file may have.`);
    const request = new XMLHttpRequest(), body = new FormData();
    body.append("file", file, file.name);
    row.dataset.state = "sending";
    row.sending = request;
    request.upload.addEventListener("progress", ({ loaded, total }) => { one("progress", row).value = total ? loaded / total : 0; });
    request.addEventListener("loadend", () => {
      let told = null;
      try { told = JSON.parse(request.responseText); } catch { /* no answer, or none of ours */ }
      if (request.status === 201 && told) kept(row, told);
      else failed(row, told?.message ?? "It could not be sent. Remove it and try again.");
      wait(form);
    });
    request.open("POST", "/uploads");
    request.send(body);
    wait(form);
  };

  const take = (form, files) => {
    if (!form || !parts(form).place) return false;
    for (const file of files) add(form, file);
    return files.length > 0;
  };
  const formOf = target => target.closest?.("form:has([data-attach])");

  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-pick]")) return;
    take(target.form, [...target.files]);
    target.value = "";
  });
  document.addEventListener("paste", event => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length && take(formOf(event.target), files)) event.preventDefault();
  });
  document.addEventListener("dragover", event => {
    const form = formOf(event.target);
    if (!form || ![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    form.dataset.over = "";
  });
  document.addEventListener("dragleave", event => {
    const form = formOf(event.target);
    if (form && !form.contains(event.relatedTarget)) delete form.dataset.over;
  });
  document.addEventListener("drop", event => {
    const form = formOf(event.target);
    if (!form) return;
    delete form.dataset.over;
    if (take(form, [...event.dataTransfer.files])) event.preventDefault();
  });
  document.addEventListener("click", event => {
    const button = event.target.closest("[data-detach]");
    if (!button) return;
    const row = button.closest(".file"), form = button.closest("form");
    row.sending?.abort();
    if (row.dataset.upload) {
      const request = new XMLHttpRequest();
      request.open("POST", `/uploads/${row.dataset.upload}/removal`);
      request.send();
    }
    row.remove();
    wait(form);
    one("[data-pick]", form).focus();
  });
})();
