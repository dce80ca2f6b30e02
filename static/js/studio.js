/* Studio's only script of its own: times, keys, places, the live pill. It never fetches and holds nothing of the server's. */
(() => {
  "use strict";
  const root = document.documentElement, nonce = document.currentScript.nonce;
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const on = (name, listener, target = document) => target.addEventListener(name, listener);
  const put = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
  const stored = (name, value) => {
    try {
      if (value !== undefined) sessionStorage.setItem(name, value);
      return sessionStorage.getItem(name) ?? "";
    } catch { return value ?? ""; /* storage is off: it lasts as long as the page */ }
  };

  /* ---- theme: system, light, dark; a cookie, so that the server's page has it from its first paint ---- */
  const wear = theme => {
    document.cookie = `studio-theme=${theme}; path=/; max-age=${theme ? 31536000 : 0}; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    put(one("[data-theme-name]"), theme || "system");
  };

  /* ---- said aloud ---- */
  const told = new Set();
  const say = text => {
    one("[data-said]").append(Object.assign(document.createElement("p"), { textContent: text }));
    all("[data-said] > :nth-last-child(n + 7)").forEach(old => old.remove());
  };
  const announce = aloud => {
    for (const { dataset: { announce: line } } of all("[data-announce]")) {
      if (aloud && !told.has(line)) say(line);
      told.add(line);
    }
  };

  /* ---- times in the reader's zone ---- */
  let made; const zone = () => made ??= Intl.DateTimeFormat().resolvedOptions().timeZone; /* when first asked for */
  const format = (options, writer) => ({ format: date => (writer ??= new Intl.DateTimeFormat("en-GB", { hourCycle: "h23", ...options })).format(date) });
  const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit" }, DAY = { day: "numeric", month: "short" };
  const [clock, minute, day, year] = [CLOCK, { ...CLOCK, second: undefined }, DAY, { ...DAY, year: "numeric" }].map(options => format(options));
  const full = format({ ...CLOCK, weekday: "long", day: "numeric", month: "long", year: "numeric", timeZoneName: "short" });
  const when = (date, style) => {
    const now = new Date();
    if (style === "full") return `${year.format(date)} ${clock.format(date)}`;
    if (style === "time" || date.toDateString() === now.toDateString()) return clock.format(date);
    return `${(date.getFullYear() === now.getFullYear() ? day : year).format(date)} ${minute.format(date)}`;
  };
  const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  const lasting = (milliseconds, coarse = false) => {
    const s = Math.max(0, Math.floor(milliseconds / 1000));
    const at = s ? UNITS.findIndex(([, size]) => s >= size) : 3;
    const [[big, size], small] = UNITS.slice(at, at + 2);
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
  const tell = () => {
    /* a time without a title was not told yet; a morph takes the title away again with the text */
    for (const time of all("time[datetime]:not([title])")) {
      const date = new Date(time.dateTime);
      if (isNaN(date)) continue;
      if (time.dataset.when !== undefined) put(time, when(date, time.dataset.when));
      time.title = `${full.format(date)} · ${zone()}`;
    }
  };

  /* ---- approve stays off until the end of the arguments was in sight ---- */
  const read = new Set();
  const mark = (end, card = end.closest("[data-must-read]")) => `${card.id} ${card.dataset.mustRead} ${all("[data-end]", card).indexOf(end)}`;
  const unread = card => all("[data-end]", card).find(end => !read.has(mark(end)));
  const stood = new WeakMap(); /* a card that just moved takes no press that was meant for another */
  const guard = () => {
    for (const card of all("[data-must-read]")) {
      const left = unread(card), top = card.offsetTop, before = stood.get(card) ?? { top, still: 0 };
      const still = before.top === top ? before.still : Date.now() + 500;
      if (before.top !== top) setTimeout(guard, 550);
      stood.set(card, { top, still });
      if (left) ends.observe(left);
      for (const button of all("[data-needs-read]", card)) button.disabled = Boolean(left) || Date.now() < still;
      for (const hint of all("[data-unread]", card)) hint.hidden = !left;
    }
    tally();
  };
  const ends = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      ends.unobserve(target);
      if (target.closest("[data-must-read]")) read.add(mark(target));
    }
    guard();
  });

  /* ---- ticked cards: one answer for several; approving stays off until each was read ---- */
  const ticked = () => all("[data-tick]:checked");
  const unfit = () => ticked().filter(box => box.dataset.tick === "deny" || unread(box.closest(".card")));
  on("formdata", ({ target, formData }) => { /* the server asks it of cards that hide or mislead */
    if (!target.matches("[data-bulk]")) return;
    for (const box of ticked()) if (!unread(box.closest(".card"))) formData.append("read", box.value.split(" ")[0]);
  });
  const tally = () => {
    const bar = one("[data-bulk]");
    if (!bar) return;
    const boxes = all("[data-tick]"), on = ticked(), left = unfit(), whole = one("[data-all]", bar);
    const short = left.filter(box => box.dataset.tick === "deny").length, rest = left.length - short;
    for (const box of boxes) box.disabled = false; /* without scripts some stay off: nobody sees whether they were read */
    for (const number of all("[data-count]", bar)) put(number, String(on.length));
    for (const press of all("[data-approves], [data-denies]", bar)) press.disabled = !on.length;
    one("[data-approves]", bar).disabled ||= left.length > 0;
    whole.checked = on.length > 0 && on.length === boxes.length;
    whole.indeterminate = on.length > 0 && !whole.checked;
    one("[data-left]", bar).hidden = !left.length;
    put(one("[data-why]", bar), [rest && `${rest} not read to the end.`, short && `${short} can only be denied here.`].filter(Boolean).join(" "));
  };
  on("change", ({ target }) => {
    if (target.matches("[data-all]")) for (const box of all("[data-tick]")) box.checked = target.checked;
    if (!target.matches("[data-tick], [data-all]")) return;
    tally();
    say(`${ticked().length} ticked.`);
  });
  on("click", event => { /* a pointer that aimed at the card which stood here before */
    const card = event.detail && event.target.closest(".card__tick")?.closest(".card");
    if (card && Date.now() < stood.get(card)?.still) event.preventDefault();
  });

  /* ---- the end of a growing list: stay there, or hold the place and count ---- */
  let stuck = !location.hash, fresh = 0, last, height = 0;
  const list = () => one("[data-follow]"), column = () => list().closest(".split > *, main");
  const below = move => {
    const box = list().closest("[data-scroller]");
    const past = box ? box.scrollHeight - box.scrollTop - box.clientHeight : column().getBoundingClientRect().bottom - innerHeight;
    if (move) (box ?? window).scrollBy(0, past);
    return past;
  };
  const chip = () => {
    const button = one("[data-jump]");
    if (!button) return;
    button.hidden = stuck || !fresh;
    put(one("[data-fresh]", button), `${fresh} new`);
  };
  /* what is followed is as long as a reload would show it, however long the page stays open */
  const trim = () => {
    const lines = all("li[id^=line-]:not(#line-older)", list()), most = Number(list().dataset.follow);
    if (!stuck || !most || lines.length <= most) return;
    const first = lines.at(-most), { previousElementSibling: turn } = first;
    const kept = turn?.dataset.kind === "turn" ? turn : first;
    while (kept.previousSibling) kept.previousSibling.remove();
    list().prepend(one("[data-older]").content.firstElementChild.cloneNode(true));
    const more = one("#line-older a", list());
    for (const name of ["href", "hx-get"]) more.setAttribute(name, more.getAttribute(name) + first.id.slice(5));
    window.htmx.process(more);
  };
  const grown = () => {
    if (!list()) return;
    trim();
    let added = 0, line = list().lastElementChild;
    for (; line && line.id !== last; line = line.previousElementSibling) added += 1;
    if (line && !stuck) fresh += added;
    last = list().lastElementChild?.id;
    chip();
  };
  const scrolled = () => {
    if (!list()) return;
    const far = below() > 8, at = (list().closest("[data-scroller]") ?? document.scrollingElement).scrollTop;
    if (!far || at < height) stuck = !far;
    height = at;
    if (stuck) fresh = 0;
    chip();
  };

  /* ---- the stream and its pill ---- */
  /* what was said of a silence is over with the next answer, and the page then shows what became of it */
  const answered = () => all("[data-silence]").forEach(words => words.remove());
  const WORDS = { live: "live", catching: "catching up", lost: "lost" }, FINAL = [401, 403, 404, 410];
  let stream, connection = null, heard = 0, pause = 1000, finished = false, position = "";
  const pill = state => {
    const light = one("#live");
    if (!light || light.dataset.state === state) return;
    if (state === "lost") say("Connection lost. What you see may be out of date.");
    light.dataset.state = state;
    put(light, state === "live" && light.dataset.word || WORDS[state]);
  };
  const catching = () => { if (one("#live")?.dataset.state !== "lost") pill("catching"); };

  /* A browser opens six connections to one place, however many windows show it: four seats for streams leave two for
     everything else. Who sits gives way after a second when others wait; what is missed meanwhile is replayed. */
  const SEATS = ["stream 1", "stream 2", "stream 3", "stream 4"];
  let locks = navigator.locks, seat = null, due = 0, rise = null;
  const sit = async () => {
    seat = "asked for";
    catching();
    const { held, pending } = await locks.query();
    const load = name => [...held, ...pending].filter(lock => lock.name === name).length;
    const name = SEATS.reduce((least, next) => (load(next) < load(least) ? next : least));
    await locks.request(name, () => new Promise(free => {
      [seat, due] = [name, Infinity];
      rise = () => { seat = rise = null; free(); };
      if (document.hidden || finished) rise(); else connect();
    }));
  };
  const share = async () => {
    if (!rise || Date.now() < due || !connection?.reader) return;
    const { pending } = await locks.query();
    if (!rise || !pending.some(lock => lock.name === seat)) return;
    rise();
    connection?.reader?.cancel();
  };
  const connect = () => {
    if (!stream || connection || finished || document.hidden) return;
    if (!locks || rise) stream.dispatchEvent(new CustomEvent("studio:connect"));
    else if (!seat) sit().catch(() => { locks = null; connect(); });
  };
  const dropped = status => {
    connection = null;
    finished ||= FINAL.includes(status);
    if (finished) rise?.();
    else if (locks && !rise) return connect();
    pill("lost");
    setTimeout(connect, pause);
    pause = Math.min(pause * 2, 15000);
  };
  const alive = () => { if (Date.now() - heard > 25000) connection?.reader?.cancel(); };
  on("htmx:sse:before:connection", event => {
    connection = event.detail.connection;
    if (finished || (locks && !rise)) return event.preventDefault();
    catching();
  });
  on("htmx:sse:after:connection", () => { heard = Date.now(); pause = 1000; pill("catching"); });
  on("htmx:sse:before:message", event => {
    heard = Date.now();
    answered();
    const { event: name, id } = event.detail.message;
    position = id || position;
    if (name === "live" || name === "beat") pill("live");
    if (name === "live") due = Math.min(due, Date.now() + 1000);
    if (name === "gone") { finished = true; connection.reader?.cancel(); }
  });
  on("htmx:sse:error", event => { finished ||= FINAL.includes(event.detail.status); pill("lost"); });
  on("htmx:sse:close", () => dropped());
  on("htmx:finally:request", event => {
    const { sourceElement, response } = event.detail.ctx;
    if (response) answered();
    if (sourceElement !== stream) setTimeout(guard); /* after htmx has switched the buttons on again */
    else if (!connection) dropped(response?.status);
  });

  /* ---- htmx: only what carries the page's nonce may ask; what failed is said, or asked again ---- */
  on("htmx:config:request", event => {
    const { sourceElement, request } = event.detail.ctx;
    event.detail.ctx.goes = sourceElement.dataset.goes; /* the link itself may be another after the morph */
    if (sourceElement.getAttribute("hx-nonce") !== nonce) event.preventDefault();
    if (sourceElement === stream && position) request.headers["Last-Event-ID"] = position;
  });
  const lookAgain = name => stream?.dispatchEvent(new CustomEvent(name, { bubbles: true }));
  on("htmx:before:request", event => { /* a look that waited for what a person chose would undo it */
    const { sourceEvent, request } = event.detail.ctx, name = sourceEvent?.type ?? "";
    if (name.startsWith("look:") && request.headers["HX-Current-URL"] !== location.href) { event.preventDefault(); lookAgain(name); }
  });
  const failed = event => {
    const { sourceElement, sourceEvent, response } = event.detail.ctx ?? {}, name = sourceEvent?.type ?? "";
    if (!sourceElement || sourceElement === stream || response?.status < 500) return;
    if (name.startsWith("look:")) setTimeout(() => lookAgain(name), 2000);
    else if (event.type === "htmx:error" && !one("[data-silence]")) one("#notices").append(one("[data-silent]").content.cloneNode(true));
  };
  for (const name of ["htmx:error", "htmx:response:error"]) on(name, failed);
  /* an appended line that is here already takes its old place, so a replay repeats harmlessly */
  on("htmx:before:swap", event => {
    for (const { fragment, swapSpec } of event.detail.tasks)
      if (swapSpec?.style === "beforeend")
        for (const line of [...fragment.children]) if (line.id) document.getElementById(line.id)?.replaceWith(line);
  });
  const settled = () => {
    tell(); tick(); guard(); grown();
    const held = one("#pending")?.textContent.trim();
    document.title = (held > 0 ? `(${held}) ` : "") + document.title.replace(/^\(\d+\) /, "");
  };
  on("htmx:before:settle", settled);
  on("htmx:after:swap", () => announce(true));
  /* on a phone what was asked for stands below what was pressed */
  on("htmx:finally:request", event => {
    const lead = event.detail.ctx.sourceElement?.dataset?.leads;
    if (lead && matchMedia("(max-width: 47.5rem)").matches) document.getElementById(lead)?.scrollIntoView({ block: "nearest" });
    const goes = document.getElementById(event.detail.ctx.goes);
    goes?.focus({ preventScroll: true });
    goes?.scrollIntoView({ block: "center" });
  });

  /* ---- typed text is never lost ---- */
  const dirty = new Set(), slot = field => `keep ${location.pathname} ${field.name}`;
  on("input", ({ target }) => {
    if (target.matches("[data-keep]")) stored(slot(target), target.value);
    if (target.form?.matches("[data-guard]")) dirty.add(target.form);
  });
  on("submit", ({ target }) => {
    dirty.delete(target);
    for (const field of all("[data-keep]", target)) stored(slot(field), "");
  });
  on("beforeunload", event => { if ([...dirty].some(form => form.isConnected)) event.preventDefault(); }, window);

  /* ---- presses ---- */
  const PRESSES = {
    themeSwitch: () => wear({ "": "light", light: "dark", dark: "" }[root.dataset.theme ?? ""]),
    help: () => one("[data-help-dialog]").showModal(),
    jump: () => { stuck = true; fresh = 0; below(true); chip(); },
    nextUnread: () => {
      const card = unfit()[0].closest(".card");
      one(".card__fold", card)?.setAttribute("open", "");
      card.focus({ preventScroll: true });
      (unread(card) ?? card).scrollIntoView({ block: "center" });
    },
    dismiss: press => press.closest(".notice").remove(),
    copy: press => navigator.clipboard?.writeText(press.dataset.copy).then(() => say("Copied.")),
  };
  on("click", event => {
    if (event.target.closest("[data-follow] summary")) stuck = false;
    const press = event.target.closest("[data-theme-switch], [data-help], [data-jump], [data-next-unread], [data-dismiss], [data-copy]");
    for (const name in press?.dataset) PRESSES[name]?.(press);
  });
  addEventListener("toggle", ({ target }) => {
    if (target.open && target.matches("details.card__more")) one("textarea, input:not([type=hidden])", target)?.focus();
  }, true);

  /* ---- keys ---- */
  let place = -1, leap = 0;
  const rows = () => all("[data-row]").filter(row => row.getClientRects().length), row = () => document.activeElement?.closest("[data-row]");
  const move = step => {
    const choices = rows(), here = choices.indexOf(row());
    if (!choices.length) return;
    /* the row that had the focus may be gone: its place is taken by the next one */
    const to = here < 0 && place >= 0 && step > 0 ? place : (here < 0 ? place : here) + step;
    const next = choices[Math.max(0, Math.min(choices.length - 1, to))];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  const answer = key => {
    const cards = all("[data-row]:has([data-key])");
    const card = row() ?? (cards.length === 1 ? cards[0] : null);
    const button = card && one(`[data-key="${key}"]`, card);
    if (!button) return false;
    if (button.disabled && unread(card)) {
      say("Read the arguments to their end first.");
      unread(card).scrollIntoView({ block: "center" });
    } else button.click();
    return true;
  };
  const typed = (event, field) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && field.matches("[data-send]")) field.form.requestSubmit();
    if (event.key !== "Escape") return;
    field.closest("details.card__more")?.removeAttribute("open");
    if (row()) row().focus(); else field.blur();
  };
  const KEYS = {
    j: () => move(1), k: () => move(-1), g: () => { leap = Date.now(); },
    x: () => { const box = row() && one("[data-tick]", row()); if (box?.getClientRects().length) box.click(); },
    "/": () => one("[data-search]")?.focus(), "?": () => PRESSES.help(),
    n: () => one("[data-next-hit]")?.click(), p: () => one("[data-previous-hit]")?.click(), z: () => one("[data-zoom]")?.click(),
  };
  const turn = key => { const link = row() && one(`[data-turns="${key}"]`, row()); link?.click(); return Boolean(link); };
  on("focusin", ({ target }) => { const at = target.closest("[data-row]"); if (at) place = rows().indexOf(at); });
  on("keydown", event => {
    const { key, target } = event;
    if (event.defaultPrevented || event.isComposing || one("dialog[open]") || (event.repeat && !/[jk]/.test(key))) return;
    const field = target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
    if (field) return typed(event, field);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const letter = /^[a-z]$/.test(key), leaping = letter && Date.now() - leap < 1200;
    leap = 0;
    if (leaping) one(`[data-go="${key}"]`)?.click();
    else if (KEYS[key]) KEYS[key]();
    else if (key === "Enter" && target.matches("[data-row]")) one("[data-open], .table__link, summary", target)?.click();
    else if (key.startsWith("Arrow") ? !turn(key) : !letter || !answer(key)) return;
    event.preventDefault();
  });

  /* ---- start: htmx and what comes with it are much, so they begin when the first frame is on the screen ---- */
  let begun; const begin = () => { if (!begun) { begun = dispatchEvent(new Event("studio:begin")); setTimeout(connect); } };
  /* what is pressed before htmx is there, by a key or not, is pressed once it is */
  addEventListener("click", event => {
    const asks = event.target.closest("[hx-get], [hx-post]");
    if (begun || !asks || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    begin();
    setTimeout(() => (event.target.closest("a, button") ?? asks).click());
  }, true);
  on("DOMContentLoaded", () => {
    stream = one("#stream");
    for (const field of all("[data-keep]")) field.value ||= stored(slot(field));
    announce(false);
    settled();
    document.addEventListener("scroll", scrolled, { capture: true, passive: true });
    if (list()) new ResizeObserver(() => stuck && below(true)).observe(column());
    setInterval(() => { if (!document.hidden) { tick(); alive(); share(); } }, 1000);
    new PerformanceObserver(begin).observe({ type: "paint", buffered: true });
    setTimeout(begin, document.hidden ? 0 : 200); /* where nobody says so, or nothing is painted */
    (window.requestIdleCallback ?? setTimeout)(() => put(one("[data-zone]"), zone()));
  });
  on("visibilitychange", () => { if (!document.hidden) { tick(); connect(); } else rise?.(); });
})();
