/* Studio's only script of its own: times, keys, places, the live pill. It never fetches and holds nothing of the server's. */
(() => {
  "use strict";
  const root = document.documentElement;
  const nonce = document.currentScript.nonce;
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const on = (name, listener, target = document) => target.addEventListener(name, listener);
  const put = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
  const stored = (name, value, store = localStorage) => {
    try {
      if (value === undefined) return store.getItem(name) ?? "";
      if (value) store.setItem(name, value); else store.removeItem(name);
    } catch { /* storage is switched off: the choice lasts as long as the page */ }
    return value ?? "";
  };
  root.dataset.scripted = "";

  /* ---- theme: system, light, dark ---- */
  let theme = stored("theme");
  const paint = () => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    put(one("[data-theme-name]"), theme || "system");
  };
  paint();

  /* ---- said aloud ---- */
  const told = new Set();
  const say = text => {
    const ear = one("[data-said]");
    if (!ear) return;
    ear.append(Object.assign(document.createElement("p"), { textContent: text }));
    if (ear.childElementCount > 6) ear.firstElementChild.remove();
  };
  const announce = aloud => {
    for (const element of all("[data-announce]")) {
      const line = element.dataset.announce;
      if (line && !told.has(line)) { told.add(line); if (aloud) say(line); }
    }
  };

  /* ---- times in the reader's zone ---- */
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const format = options => new Intl.DateTimeFormat("en-GB", { hourCycle: "h23", ...options });
  const day = format({ day: "numeric", month: "short" });
  const year = format({ day: "numeric", month: "short", year: "numeric" });
  const clock = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const minute = format({ hour: "2-digit", minute: "2-digit" });
  const full = format({ weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });

  const when = (date, style) => {
    const now = new Date();
    if (style === "time") return clock.format(date);
    if (style === "full") return `${year.format(date)} ${clock.format(date)}`;
    if (date.toDateString() === now.toDateString()) return clock.format(date);
    return `${(date.getFullYear() === now.getFullYear() ? day : year).format(date)} ${minute.format(date)}`;
  };
  const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  const lasting = (milliseconds, coarse = false) => {
    const s = Math.max(0, Math.floor(milliseconds / 1000));
    const at = Math.max(0, UNITS.findIndex(([, size]) => s >= size));
    const [[big, size], small] = s < 1 ? [UNITS[3]] : UNITS.slice(at, at + 2);
    const rest = small && !(coarse && big === "m") ? Math.floor(s % size / small[1]) : 0;
    return `${Math.floor(s / size)} ${big}${rest ? ` ${rest} ${small[0]}` : ""}`;
  };
  const tick = () => {
    for (const time of all("time[data-age], time[data-deadline]")) {
      const passed = Date.now() - Date.parse(time.dateTime);
      if (time.dataset.deadline !== undefined) put(time, passed < 0 ? `in ${lasting(-passed)}` : "now");
      else put(time, time.dataset.age === "ago" ? `${lasting(passed, true)} ago` : lasting(passed));
    }
  };
  const tell = within => {
    for (const time of all("time[datetime]", within)) {
      const date = new Date(time.dateTime);
      if (isNaN(date)) continue;
      if (time.dataset.when !== undefined) put(time, when(date, time.dataset.when));
      time.title = `${full.format(date)} · ${zone}`;
    }
  };

  /* ---- approve stays off until the end of the arguments was in sight ---- */
  const read = new Set();
  const mark = end => {
    const card = end.closest("[data-must-read]");
    return `${card.id} ${card.dataset.mustRead} ${all("[data-end]", card).indexOf(end)}`;
  };
  const gate = card => {
    const unread = all("[data-end]", card).some(end => !read.has(mark(end)));
    for (const button of all("[data-needs-read]", card)) button.disabled = unread;
    for (const hint of all("[data-unread]", card)) hint.hidden = !unread;
  };
  const ends = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries) {
      const card = target.closest("[data-must-read]");
      if (!isIntersecting || !card) continue;
      read.add(mark(target));
      ends.unobserve(target);
      gate(card);
    }
  });
  const guard = () => {
    for (const card of all("[data-must-read]")) {
      for (const end of all("[data-end]", card)) if (!read.has(mark(end))) ends.observe(end);
      gate(card);
    }
  };

  /* ---- the end of a growing list: stay there, or hold the place and count ---- */
  let stuck = true, fresh = 0, last = "";
  const list = () => one("[data-follow]");
  const scroller = () => {
    for (let box = list(); box && box !== document.body; box = box.parentElement)
      if (/auto|scroll/.test(getComputedStyle(box).overflowY)) return box;
    return document.scrollingElement;
  };
  const toEnd = () => { const box = scroller(); box.scrollTop = box.scrollHeight; };
  const chip = () => {
    const button = one("[data-jump]");
    if (!button) return;
    button.hidden = stuck || !fresh;
    put(one("[data-fresh]", button), `${fresh} new`);
  };
  const grown = () => {
    const lines = list();
    if (!lines) return;
    let added = 0, line = lines.lastElementChild;
    for (; line && line.id !== last; line = line.previousElementSibling) added += 1;
    if (last && line && !stuck) fresh += added;
    last = lines.lastElementChild?.id ?? "";
    if (stuck) toEnd();
    chip();
  };
  const scrolled = () => {
    if (!list()) return;
    const box = scroller();
    stuck = box.scrollHeight - box.scrollTop - box.clientHeight < 64;
    if (stuck) fresh = 0;
    chip();
  };

  /* ---- the stream and its pill ---- */
  const WORDS = { live: "live", catching: "catching up", lost: "lost" };
  const FINAL = [401, 403, 404, 410];
  let stream, connection = null, heard = 0, pause = 1000, finished = false;
  const pill = state => {
    const light = one("#live");
    if (!light || light.dataset.state === state) return;
    if (state === "lost") say("Connection lost. What you see may be out of date.");
    light.dataset.state = state;
    put(light, WORDS[state]);
  };
  const connect = () => {
    if (stream && !connection && !finished && !document.hidden) stream.dispatchEvent(new CustomEvent("studio:connect"));
  };
  const again = () => { setTimeout(connect, pause); pause = Math.min(pause * 2, 15000); };
  const alive = () => {
    if (!connection?.reader || document.hidden || Date.now() - heard < 25000) return;
    heard = Date.now();
    pill("catching");
    connection.reader.cancel();
  };
  on("htmx:sse:before:connection", event => {
    if (finished) return event.preventDefault();
    connection = event.detail.connection;
    pill("catching");
  });
  on("htmx:sse:after:connection", () => { heard = Date.now(); pause = 1000; });
  on("htmx:sse:before:message", event => {
    heard = Date.now();
    const name = event.detail.message.event;
    if (name === "live" || name === "beat") pill("live");
    if (name === "gone") { finished = true; connection.reader?.cancel(); pill("lost"); }
  });
  on("htmx:sse:error", event => { finished ||= FINAL.includes(event.detail.status); pill("lost"); });
  on("htmx:sse:close", () => { connection = null; pill("lost"); if (!finished) again(); });
  on("htmx:finally:request", event => {
    const { sourceElement, response } = event.detail.ctx;
    if (sourceElement !== stream) return guard();
    if (connection) return;
    finished = FINAL.includes(response?.status);
    pill("lost");
    if (!finished) again();
  });

  /* ---- htmx: only what carries the page's nonce may ask; what failed is said or asked again ---- */
  on("htmx:config:request", event => {
    if (event.detail.ctx.sourceElement.getAttribute("hx-nonce") !== nonce) event.preventDefault();
  });
  const failed = event => {
    const ctx = event.detail.ctx;
    if (!ctx || ctx.sourceElement === stream) return;
    const name = ctx.sourceEvent?.type ?? "";
    if (name.startsWith("look:")) setTimeout(() => stream?.dispatchEvent(new CustomEvent(name, { bubbles: true })), 2000);
    else if (event.type === "htmx:error") one("#notices")?.append(one("[data-silent]").content.cloneNode(true));
  };
  on("htmx:error", failed);
  on("htmx:response:error", event => { if (event.detail.ctx.response.status >= 500) failed(event); });
  on("htmx:before:swap", event => {
    /* an appended line that is here already takes its old place, so a replay repeats harmlessly */
    for (const { fragment, swapSpec } of event.detail.tasks)
      if (swapSpec?.style === "beforeend")
        for (const line of [...fragment.children]) if (line.id) document.getElementById(line.id)?.replaceWith(line);
  });
  const title = () => {
    const held = one("#pending")?.textContent.trim();
    document.title = (held && held !== "0" ? `(${held}) ` : "") + document.title.replace(/^\(\d+\) /, "");
  };
  const settled = within => { tell(within); tick(); guard(); grown(); title(); };
  on("htmx:before:settle", event => settled(event.target.parentElement ?? document));
  on("htmx:after:swap", () => { settled(document); announce(true); });

  /* ---- typed text is never lost ---- */
  const dirty = new Set();
  const slot = field => `keep ${location.pathname} ${field.name}`;
  on("input", ({ target }) => {
    if (target.matches("[data-keep]")) stored(slot(target), target.value, sessionStorage);
    if (target.form?.matches("[data-guard]")) dirty.add(target.form);
  });
  on("submit", ({ target }) => {
    dirty.delete(target);
    for (const field of all("[data-keep]", target)) stored(slot(field), "", sessionStorage);
  });
  on("beforeunload", event => { if ([...dirty].some(form => form.isConnected)) event.preventDefault(); }, window);

  /* ---- presses ---- */
  on("click", event => {
    const press = event.target.closest("[data-theme-switch], [data-help], [data-jump], [data-dismiss], [data-copy]");
    if (!press) return;
    if (press.matches("[data-theme-switch]")) { theme = stored("theme", { "": "light", light: "dark", dark: "" }[theme]); paint(); }
    if (press.matches("[data-help]")) one("[data-help-dialog]").showModal();
    if (press.matches("[data-jump]")) { fresh = 0; stuck = true; toEnd(); chip(); }
    if (press.matches("[data-dismiss]")) press.closest(".notice").remove();
    if (press.matches("[data-copy]")) navigator.clipboard?.writeText(press.dataset.copy).then(() => say("Copied."));
  });
  on("change", ({ target }) => {
    if (target.matches("[data-tick-all]")) for (const box of all("[data-tick]:enabled")) box.checked = target.checked;
    if (target.matches("[data-tick], [data-tick-all]")) put(one("[data-ticked]"), String(all("[data-tick]:checked").length));
  });
  document.addEventListener("toggle", event => {
    if (event.target.open && event.target.matches("details.card__more")) one("textarea, input:not([type=hidden])", event.target)?.focus();
  }, true);

  /* ---- keys ---- */
  let place = -1, leap = 0;
  const rows = () => all("[data-row]").filter(row => row.getClientRects().length);
  const row = () => document.activeElement?.closest("[data-row]");
  const move = step => {
    const choices = rows(), here = choices.indexOf(row());
    if (!choices.length) return;
    const gone = here < 0 && place >= 0 && step > 0;
    const next = choices[Math.max(0, Math.min(choices.length - 1, here >= 0 ? here + step : gone ? place : place + step))];
    place = choices.indexOf(next);
    if (!next.hasAttribute("tabindex")) next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  const answer = key => {
    const cards = all("[data-row]:has([data-key])");
    const card = row() ?? (cards.length === 1 ? cards[0] : null);
    const button = card && one(`[data-key="${key}"]`, card);
    if (!button) return false;
    if (button.disabled && button.matches("[data-needs-read]")) {
      say("Read the arguments to their end first.");
      all("[data-end]", card).find(end => !read.has(mark(end)))?.scrollIntoView({ block: "center" });
    } else button.click();
    return true;
  };
  on("focusin", ({ target }) => { const at = target.closest("[data-row]"); if (at) place = rows().indexOf(at); });
  on("keydown", event => {
    const { key, target } = event;
    if (event.defaultPrevented || event.repeat && !"jk".includes(key) || event.isComposing || one("dialog[open]")) return;
    const typing = target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
    if (typing) {
      if (key === "Escape") { typing.closest("details.card__more")?.removeAttribute("open"); (row() ?? typing).focus(); typing.blur(); }
      if (key === "Enter" && (event.ctrlKey || event.metaKey) && typing.matches("[data-send]")) typing.form.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const leaping = Date.now() - leap < 1200;
    leap = 0;
    let done = true;
    if (leaping) one(`[data-go="${CSS.escape(key)}"]`)?.click();
    else if (key === "g") leap = Date.now();
    else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
    else if (key === "/") one("[data-search]")?.focus();
    else if (key === "?") one("[data-help-dialog]")?.showModal();
    else if (key === "Enter" && target.matches("[data-row]")) one("[data-open], .table__link, summary", target)?.click();
    else if (key === "x" && row()) one("[data-tick]", row())?.click();
    else done = /^[a-z]$/.test(key) && answer(key);
    if (done) event.preventDefault();
  });

  /* ---- start ---- */
  on("DOMContentLoaded", () => {
    stream = one("#stream");
    paint();
    put(one("[data-zone]"), zone);
    for (const field of all("[data-keep]")) field.value ||= stored(slot(field), undefined, sessionStorage);
    announce(false);
    settled(document);
    if (list() && location.hash) scrolled();
    document.addEventListener("scroll", scrolled, { capture: true, passive: true });
    setInterval(() => { if (!document.hidden) { tick(); alive(); } }, 1000);
    /* htmx starts at this same event, after us: connect when its listeners are there */
    setTimeout(connect);
  });
  on("visibilitychange", () => { if (!document.hidden) { tick(); connect(); } });
})();
