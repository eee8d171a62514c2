// What the pages do by themselves: they stay up to date, filters apply at once, columns of charts lead somewhere.
// Everything works without this script.
"use strict";
(() => {
  const root = "/deadweight";
  const live = document.getElementById("live");
  let source, pending = false, busy = false, last = 0;

  // A page that looks at something that is over does not change, and one that is not looked at waits.
  const follows = !/\/request\//.test(location.pathname);

  const say = (text, state) => {
    if (!live) return;
    live.hidden = false;
    live.dataset.state = state;
    live.lastElementChild.textContent = text;
  };

  // Takes over what differs, part by part, so that focus, scrolling and opened details stay.
  const patch = (from, to) => {
    if (from.isEqualNode(to)) return;
    if (from.nodeName !== to.nodeName || from.nodeType !== 1) {
      from.replaceWith(to.cloneNode(true));
      return;
    }
    const open = from.nodeName === "DETAILS" && from.open;
    for (const { name } of [...from.attributes]) if (!to.hasAttribute(name)) from.removeAttribute(name);
    for (const { name, value } of [...to.attributes]) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    if (open) from.open = true;
    if (to.firstElementChild?.dataset?.key) return patchRows(from, to);
    const old = [...from.childNodes], now = [...to.childNodes];
    now.forEach((node, at) => (old[at] ? patch(old[at], node) : from.append(node.cloneNode(true))));
    old.slice(now.length).forEach((node) => node.remove());
  };

  // Rows are told by their keys: those that stay are not moved, so that the one with the focus keeps it.
  const patchRows = (from, to) => {
    const key = (node) => node.dataset?.key;
    const own = new Map([...from.children].map((node) => [key(node), node]));
    const stays = new Set([...to.children].map(key));
    let at = from.firstElementChild;
    for (const node of [...to.children]) {
      while (at && !stays.has(key(at))) {
        const gone = at;
        at = at.nextElementSibling;
        gone.remove();
      }
      const row = own.get(key(node));
      if (!row) from.insertBefore(node.cloneNode(true), at);
      else {
        if (row === at) at = at.nextElementSibling;
        else from.insertBefore(row, at);
        patch(row, node);
      }
    }
    while (at) {
      const gone = at;
      at = at.nextElementSibling;
      gone.remove();
    }
  };

  const refresh = async () => {
    if (busy || document.hidden || document.activeElement?.matches("select, input")) {
      pending = true;
      return;
    }
    busy = true;
    pending = false;
    try {
      const answer = await fetch(location.href, { headers: { "x-deadweight-live": "1" }, cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = page.getElementById("main");
      if (main) patch(document.getElementById("main"), main);
      say("live", "on");
    } catch {
      say("not reached", "off");
    }
    busy = false;
    last = Date.now();
  };

  const soon = () => {
    if (pending) return;
    pending = true;
    // What is told of is in the ledger a moment later.
    setTimeout(refresh, Math.max(500, 1000 - (Date.now() - last)));
  };

  const listen = () => {
    source = new EventSource(`${root}/events`);
    source.addEventListener("open", () => say("live", "on"));
    source.addEventListener("change", soon);
    source.addEventListener("error", () => say("not reached", "off"));
  };

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && pending) refresh();
  });
  document.addEventListener("focusout", () => {
    if (pending) setTimeout(refresh, 500);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.choices");
    if (form) form.requestSubmit();
  });
  document.addEventListener("click", (event) => {
    const to = event.target.closest("[data-href]");
    if (to) location.assign(to.dataset.href);
  });
  // Lists and turns are turned over with the arrow keys, as long as nothing else wants them.
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, select, textarea, .scroll, pre, [contenteditable]")) return;
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = rel && document.querySelector(`a[rel=${rel}]`);
    if (link) {
      event.preventDefault();
      link.click();
    }
  });

  document.documentElement.classList.add("scripted");
  if (follows && window.EventSource) listen();
})();
