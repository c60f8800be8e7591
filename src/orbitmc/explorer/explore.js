// A model to click evidence in. The same module draws a page of `orbitmc explore` and a widget of a
// notebook: both give it a way to send messages and to hear them. Names are only ever text.

const MOVED = 4, PATIENCE = 1500, STEP = 0.05, MOST_ROWS = 8, RETRY = 1500, LONGEST_RETRY = 60000, LEAST_ZOOM = 0.25, MOST_ZOOM = 2;
const READABLE = 0.66;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function drawn(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function percent(p) {
  if (p === null || p === undefined) return "";
  if (p === 0 || p === 1) return `${100 * p}%`;
  if (p < 0.0001) return "<.01%";
  if (p > 0.9999) return ">99.9%";
  return p < 0.01 || p > 0.99 ? `${(100 * p).toFixed(2)}%` : `${(100 * p).toFixed(1)}%`;
}

function precise(p) {
  return p === null || p === undefined ? "" : String(Number(p.toPrecision(5)));
}

function bits(number) {
  return number >= 0.1 ? number.toFixed(2) : number.toPrecision(2);
}

// One value of a variable: a bar with its error, which is clicked or dragged.

class Row {
  constructor(explorer, name, value, first, thin) {
    Object.assign(this, { explorer, name, value, thin });
    this.fill = make("i", { class: "omx-fill" });
    this.before = make("i", { class: "omx-before" });
    this.whisker = make("i", { class: "omx-whisker" });
    this.bar = make("span", { class: "omx-bar" }, this.fill, this.before, this.whisker);
    this.number = make("span", { class: "omx-number" });
    this.label = make("span", { class: "omx-label" }, value);
    const parts = thin ? [this.bar] : [this.label, this.bar, this.number];
    this.element = make(
      "button",
      {
        class: thin ? "omx-row omx-thin" : "omx-row",
        type: "button",
        tabindex: first ? 0 : -1,
        "aria-pressed": "false",
        "data-name": name,
        "data-value": value,
        onpointerdown: (event) => this.press(event),
        onkeydown: (event) => this.key(event),
        onclick: (event) => event.detail === 0 && this.observe(),
      },
      ...parts,
    );
  }

  observe() {
    this.explorer.send({ do: "observe", name: this.name, value: this.value });
  }

  press(event) {
    if (event.button !== 0) return;
    const begun = event.clientX;
    let moving = false;
    const place = (x) => {
      const box = this.bar.getBoundingClientRect();
      return Math.min(1, Math.max(0, (x - box.left) / Math.max(box.width, 1)));
    };
    const move = (later) => {
      if (!moving && Math.abs(later.clientX - begun) > MOVED) {
        moving = true;
        this.explorer.beginPull();
      }
      if (moving) this.explorer.pull(this.name, this.value, place(later.clientX));
    };
    const end = () => {
      this.element.removeEventListener("pointermove", move);
      this.element.removeEventListener("pointerup", up);
      this.element.removeEventListener("pointercancel", end);
    };
    const up = () => {
      end();
      if (!moving) this.observe();
    };
    this.element.setPointerCapture(event.pointerId);
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener("pointerup", up);
    this.element.addEventListener("pointercancel", end);
  }

  key(event) {
    const step = { ArrowRight: STEP, ArrowLeft: -STEP }[event.key];
    const other = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (step && this.p !== undefined) {
      event.preventDefault();
      this.explorer.beginPull();
      const p = Math.round((this.p + step) / STEP) * STEP;
      this.explorer.pull(this.name, this.value, Math.min(0.95, Math.max(0.05, p)));
    } else if (other) {
      const next = this.element[other];
      if (!next || !next.classList.contains("omx-row")) return;
      event.preventDefault();
      this.element.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    } else if (event.key === "Backspace" || event.key === "Delete") {
      event.preventDefault();
      this.explorer.send({ do: "forget", name: this.name });
    }
  }

  show(row, place, before) {
    const rest = place >= row.p.length;
    const p = rest ? Math.max(0, 1 - row.p.reduce((a, b) => a + b, 0)) : row.p[place];
    const low = rest ? 1 - row.high[0] : row.low[place];
    const high = rest ? 1 - row.low[0] : row.high[place];
    const error = rest ? row.error[0] : row.error[place];
    this.p = p;
    this.fill.style.width = `${100 * p}%`;
    this.whisker.hidden = !(error > 0) || low === null || high === null;
    this.whisker.style.left = `${100 * low}%`;
    this.whisker.style.width = `${100 * Math.max(0, high - low)}%`;
    this.before.hidden = before === undefined || Math.abs(before - p) < 0.005;
    if (!this.before.hidden) this.before.style.left = `${100 * before}%`;
    this.number.textContent = percent(p);
    this.element.dataset.p = p;
    this.element.dataset.error = error;
    const spread = error > 0 ? `, plus or minus ${precise(error)}` : "";
    const about = `${this.name} = ${this.value}: ${precise(p)}${spread}, ${row.verdict}`;
    this.element.setAttribute("aria-label", about);
    const interval = error > 0 ? ` (${precise(low)} to ${precise(high)})` : "";
    this.element.title = `${this.value}: ${precise(p)}${interval}\n${row.verdict}`;
  }

  mark(finding, place) {
    const hard = finding === this.value;
    const soft = Array.isArray(finding);
    this.element.setAttribute("aria-pressed", hard ? "true" : soft ? "mixed" : "false");
    this.element.classList.toggle("omx-hard", hard);
    this.element.classList.toggle("omx-soft", soft);
    this.weight = soft ? finding[place] : undefined;
  }
}

// A variable with all its values.

class Box {
  constructor(explorer, name, values, more, wide) {
    Object.assign(this, { explorer, name, values });
    this.heading = make(
      "button",
      {
        class: "omx-name",
        type: "button",
        title: name,
        "aria-label": `${name}: choose as the variable to know about`,
        onclick: () => explorer.select(name),
      },
      name,
    );
    this.thin = !wide && values.length > MOST_ROWS;
    this.rows = values.map((value, k) => new Row(explorer, name, value, k === 0, this.thin));
    this.most = make("span", { class: "omx-most" });
    const further = more
      ? make(
          "button",
          {
            class: "omx-more",
            type: "button",
            title: `${more} more neighbours`,
            "aria-label": `draw ${more} more neighbours of ${name}`,
            onclick: () => explorer.look(name),
          },
          `+${more}`,
        )
      : null;
    this.body = make("div", { class: "omx-rows" }, ...this.rows.map((row) => row.element));
    this.element = make(
      "section",
      { class: "omx-box", role: "group", "aria-label": name, "data-box": name },
      make("header", {}, this.heading, further),
      this.thin ? this.most : null,
      this.body,
    );
  }

  show(row, before) {
    this.element.dataset.tone = row.tone;
    this.element.dataset.verdict = row.verdict;
    this.rows.forEach((each, k) => each.show(row, k, before && before.p[k]));
    if (this.thin) {
      const best = row.p.indexOf(Math.max(...row.p));
      this.most.textContent = `${this.values[best]} ${percent(row.p[best])}`;
    }
  }

  mark(finding, isTarget) {
    this.rows.forEach((row, k) => row.mark(finding, k));
    this.element.classList.toggle("omx-observed", finding !== undefined);
    this.element.classList.toggle("omx-target", isTarget);
  }

  markBest(value) {
    for (const row of this.rows) row.element.classList.toggle("omx-best", row.value === value);
  }
}

let drawings = 0; // each has a tip of its own: a widget that is gone takes its own along

// The whole of it: what is drawn on the left, what follows from it on the right.

class Explorer {
  constructor(root, sendMessage, isPage) {
    Object.assign(this, { root, sendMessage, isPage, tip: `omx-tip-${(drawings += 1)}` });
    this.boxes = new Map();
    this.rows = {};
    this.before = {};
    this.state = { evidence: {}, words: {}, steps: [], place: 0, first: 0, version: 0, target: "" };
    this.zoom = 1;
    this.pulling = null;
    this.best = {};
    this.build();
  }

  build() {
    const button = (words, about, act) =>
      make("button", { type: "button", class: "omx-button", title: about, "aria-label": about, onclick: act }, words);
    this.title = make("h1", {});
    this.badge = make("span", { class: "omx-badge", role: "status", "aria-live": "polite" }, "…");
    this.undo = button("↶ Undo", "take the last step back (Ctrl+Z)", () => this.send({ do: "undo" }));
    this.redo = button("↷ Redo", "take the step again (Ctrl+Y)", () => this.send({ do: "redo" }));
    this.forget = button("Clear", "take all evidence back", () => this.send({ do: "clear" }));
    this.search = make("input", {
      type: "search",
      class: "omx-search",
      placeholder: "find a name",
      "aria-label": "find a name",
      oninput: () => this.find(),
      onkeydown: (event) => this.searchKey(event),
    });
    this.found = make("ul", { class: "omx-found", hidden: true });
    this.finder = make("div", { class: "omx-finder" }, this.search, this.found);
    this.zoomers = make(
      "div",
      { class: "omx-zoom", role: "group", "aria-label": "size of the drawing" },
      button("−", "smaller", () => this.setZoom(this.zoom / 1.25)),
      button("Fit", "fit the drawing into the window", () => this.fit(0)),
      button("+", "larger", () => this.setZoom(this.zoom * 1.25)),
    );
    this.words = make("p", { class: "omx-words" });
    this.canvas = make("div", { class: "omx-canvas" });
    this.sizer = make("div", { class: "omx-sizer" }, this.canvas);
    this.stage = make("div", {
      class: "omx-stage",
      onwheel: (event) => this.wheel(event),
      onpointerdown: (event) => this.pan(event),
    }, this.sizer);
    this.side = make("aside", { class: "omx-side", "aria-label": "what follows from the evidence" });
    const hint = "Click a value to observe it, once more to take it back. Drag a bar to where you think it is.";
    this.root.replaceChildren(
      make(
        "div",
        { class: "omx" },
        make(
          "div",
          { class: "omx-head" },
          this.title, this.badge, this.finder,
          make("div", { class: "omx-tools" }, this.undo, this.redo, this.forget, this.zoomers),
        ),
        make("p", { class: "omx-hint" }, hint),
        make("div", { class: "omx-body" }, this.stage, this.side),
        this.words,
      ),
    );
    // a page is all ours; in a notebook only keys within the widget are
    (this.isPage ? document : this.root).addEventListener("keydown", (event) => this.shortcut(event));
    this.parts = {};
    for (const [key, words] of [
      ["conflict", ""],
      ["evidence", "Evidence"],
      ["chosen", "Variable"],
      ["changed", "What changed most"],
      ["best", "Best explanation"],
      ["next", "What to observe next"],
      ["history", "History"],
      ["copy", "Copy as"],
    ]) {
      const body = make("div", {});
      const whole = make(
        "section",
        { class: `omx-part omx-${key}`, "data-part": key, role: key === "conflict" ? "alert" : null },
        words ? make("h2", {}, words) : null,
        body,
      );
      this.parts[key] = { whole, body, heading: whole.querySelector("h2") };
      this.side.append(whole);
    }
    this.parts.conflict.whole.hidden = true;
    this.parts.chosen.whole.hidden = true;
    for (const key of ["changed", "best", "next"]) this.empty(key, "…");
    this.buildCopy();
  }

  buildCopy() {
    this.texts = { command: make("pre", { tabindex: 0 }), python: make("pre", { tabindex: 0 }) };
    const copy = (key, words) => {
      const act = make("button", { type: "button", class: "omx-button" }, words);
      act.addEventListener("click", () => this.copy(this.texts[key], act, words));
      return act;
    };
    this.commandButton = copy("command", "Command line");
    this.reportButton = make(
      "button",
      { type: "button", class: "omx-button", onclick: () => this.askReport() },
      "Report page",
    );
    this.parts.copy.body.append(
      make("div", { class: "omx-tools" }, this.commandButton, copy("python", "Python"), this.reportButton),
      this.texts.command,
      this.texts.python,
    );
  }

  send(message) {
    this.sendMessage(message);
  }

  // A bar is dragged: one message is under way at a time, and the newest one waits.

  beginPull() {
    this.pulling = { more: false, waiting: null, under: this.pulling ? this.pulling.under : false };
  }

  pull(name, value, to) {
    const message = { do: "pull", name, value, to };
    if (this.pulling.under) this.pulling.waiting = message;
    else this.sendPull(message);
  }

  sendPull(message) {
    this.pulling.under = true;
    this.send({ ...message, more: this.pulling.more });
    this.pulling.more = true;
  }

  pullDone() {
    if (!this.pulling) return;
    this.pulling.under = false;
    const { waiting } = this.pulling;
    this.pulling.waiting = null;
    if (waiting) this.sendPull(waiting);
  }

  // What is heard.

  hear(message) {
    const act = {
      model: () => this.showModel(message),
      scene: () => this.showScene(message),
      state: () => this.showState(message),
      answer: () => this.showAnswer(message),
      table: () => this.showTable(message),
      changed: () => this.showChanged(message),
      weight: () => this.showWeight(message),
      best: () => this.showBest(message),
      next: () => this.showNext(message),
      conflict: () => this.showConflict(message),
      trouble: () => this.showTrouble(message),
      found: () => this.showFound(message),
      report: () => this.showReport(message),
    }[message.say];
    const stale = message.version !== undefined && message.version < this.state.version;
    if (!act || stale) return;
    if (this.parts[message.say]) this.parts[message.say].whole.classList.remove("omx-waiting");
    act();
  }

  showModel(message) {
    this.model = message;
    this.title.textContent = message.title || "Explore";
    if (this.isPage) document.title = `${message.title || "model"} · orbitmc explore`;
    this.finder.hidden = message.whole && message.kind !== "table" && message.kind !== "lattice";
    this.zoomers.hidden = message.kind === "table";
    this.search.placeholder = message.kind === "table" ? "filter" : `find one of ${message.total}`;
    this.root.dataset.kind = message.kind;
  }

  showScene(scene) {
    this.scene = scene;
    this.boxes = new Map();
    this.cells = null;
    this.canvas.replaceChildren();
    if (scene.kind === "lattice") this.drawLattice(scene);
    else this.drawBoxes(scene);
    this.fit(READABLE);
    if (scene.centre) this.moveTo(scene.centre);
  }

  drawBoxes(scene) {
    const svg = drawn("svg", { width: scene.width, height: scene.height, "aria-hidden": "true" });
    const marker = drawn("marker", {
      id: this.tip, viewBox: "0 0 8 8", refX: 7.5, refY: 4,
      markerWidth: 10, markerHeight: 10, markerUnits: "userSpaceOnUse", orient: "auto",
    });
    marker.append(drawn("path", { d: "M0 0.6L8 4L0 7.4z", class: "omx-tip" }));
    const defs = drawn("defs", {});
    defs.append(marker);
    svg.append(defs);
    this.lines = scene.lines.map((line) => {
      const path = drawn("path", { d: line.path, class: "omx-line" });
      if (scene.kind === "network") path.setAttribute("marker-end", `url(#${this.tip})`);
      svg.append(path);
      return path;
    });
    this.canvas.append(svg);
    const downwards = [...scene.boxes].sort((a, b) => a.y + a.h / 2 - b.y - b.h / 2 || a.x - b.x);
    for (const { name, values, x, y, w, h, more } of downwards) {
      const box = new Box(this, name, values, more, false);
      Object.assign(box.element.style, {
        left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px`,
      });
      box.element.addEventListener("pointerenter", () => this.light(name));
      box.element.addEventListener("focusin", () => this.light(name));
      box.element.addEventListener("pointerleave", () => this.light(this.state.target));
      this.boxes.set(name, box);
      this.canvas.append(box.element);
    }
    this.size = [scene.width, scene.height];
  }

  light(name) {
    const place = this.scene && this.scene.boxes ? this.scene.boxes.findIndex((box) => box.name === name) : -1;
    (this.lines || []).forEach((path, k) => {
      const line = this.scene.lines[k];
      path.classList.toggle("omx-lit", line.from === place || line.to === place);
    });
  }

  drawLattice(scene) {
    const side = Math.max(12, Math.min(40, Math.floor(720 / Math.max(scene.columns, scene.rows))));
    const grid = make("div", { class: "omx-lattice", role: "grid", "aria-label": "lattice" });
    grid.style.gridTemplateColumns = `repeat(${scene.columns}, ${side}px)`;
    grid.style.gridAutoRows = `${side}px`;
    this.cells = scene.cells.map((name, k) =>
      make("button", {
        type: "button", class: "omx-cell", tabindex: k === 0 ? 0 : -1, "data-name": name,
        onclick: () => this.select(name),
        onkeydown: (event) => this.cellKey(event, k),
      }),
    );
    grid.append(...this.cells);
    const [first, last] = [scene.values[0], scene.values[scene.values.length - 1]];
    const legend = scene.values.length === 2
      ? make("div", { class: "omx-legend" }, first, make("i", {}), last)
      : make("div", { class: "omx-legend" }, ...scene.values.map((value, k) =>
          make("span", { class: `omx-key omx-hue${k % 8}` }, value)));
    this.canvas.append(legend, grid);
    this.size = [scene.columns * (side + 2) + 40, scene.rows * (side + 2) + 84];
  }

  cellKey(event, k) {
    const { columns, values, cells } = this.scene;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    const value = values[Number(event.key) - 1];
    if (step !== undefined && this.cells[k + step]) {
      event.preventDefault();
      this.cells[k].tabIndex = -1;
      this.cells[k + step].tabIndex = 0;
      this.cells[k + step].focus();
    } else if (value !== undefined) {
      this.send({ do: "observe", name: cells[k], value });
    } else if (event.key === "Backspace" || event.key === "Delete") {
      this.send({ do: "forget", name: cells[k] });
    }
  }

  showCells(message) {
    const { cells, values } = this.scene;
    message.cells.forEach((p, k) => {
      const element = this.cells[k];
      const best = p.indexOf(Math.max(...p));
      const share = values.length === 2 ? p[1] : (p[best] * values.length - 1) / (values.length - 1);
      element.style.setProperty("--p", share.toFixed(4));
      element.dataset.p = values.length === 2 ? p[1] : p[best];
      element.dataset.tone = message.tones[k];
      element.className = values.length === 2 ? "omx-cell" : `omx-cell omx-hue${best % 8}`;
      const error = message.errors[k] > 0 ? ` ± ${precise(message.errors[k])}` : "";
      const told = values.map((value, v) => `${value} ${precise(p[v])}`).join(", ");
      element.title = `${cells[k]}: ${told}${error}`;
      element.setAttribute("aria-label", element.title);
    });
    this.markCells();
  }

  markCells() {
    const { evidence, target } = this.state;
    this.scene.cells.forEach((name, k) => {
      this.cells[k].classList.toggle("omx-observed", evidence[name] !== undefined);
      this.cells[k].classList.toggle("omx-target", name === target);
    });
  }

  showState(state) {
    const clicked = state.place !== this.state.place || state.total !== this.state.total;
    if (clicked) this.before = this.rows;
    this.state = state;
    this.badge.textContent = "…";
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      this.badge.textContent = "working …";
      this.badge.title = "the first run of a method compiles for some seconds";
    }, PATIENCE);
    this.parts.conflict.whole.hidden = true;
    for (const key of ["changed", "best", "next"]) this.parts[key].whole.classList.add("omx-waiting");
    this.undo.disabled = state.place === 0;
    this.redo.disabled = state.place >= state.total - 1;
    this.forget.disabled = !Object.keys(state.evidence).length;
    this.root.dataset.version = state.version;
    this.markAll();
    this.showEvidence();
    this.showHistory();
    this.commandButton.disabled = !state.command;
    this.texts.command.hidden = !state.command;
    this.texts.command.textContent = state.command;
    this.texts.python.textContent = state.python;
    if (this.chosen && this.chosen.name !== state.target) this.choose(state.target);
    else if (!this.chosen && state.target) this.choose(state.target);
  }

  markAll() {
    for (const [name, box] of this.boxes) box.mark(this.state.evidence[name], name === this.state.target);
    if (this.chosen) this.chosen.mark(this.state.evidence[this.chosen.name], true);
    if (this.cells) this.markCells();
    if (this.tableRows) {
      for (const row of this.tableRows) {
        const finding = this.state.evidence[row.name];
        row.mark(finding, row.place);
        row.no && row.no.setAttribute("aria-pressed", finding === "false" ? "true" : "false");
        row.line.classList.toggle("omx-observed", finding !== undefined);
      }
    }
    this.light(this.state.target);
  }

  showAnswer(message) {
    this.pullDone();
    clearTimeout(this.waiting);
    this.canvas.classList.remove("omx-stale");
    this.rows = { ...(message.rows || (message.table && message.table.rows) || {}) };
    if (message.table) this.showTable(message.table);
    if (message.cells) this.showCells(message);
    for (const [name, box] of this.boxes) {
      if (this.rows[name]) box.show(this.rows[name], this.before[name]);
    }
    if (this.chosen && this.rows[this.chosen.name]) {
      this.chosen.show(this.rows[this.chosen.name], this.before[this.chosen.name]);
      this.showChosenWords();
    }
    const time = message.seconds < 1 ? `${Math.max(1, Math.round(1000 * message.seconds))} ms` : `${message.seconds.toFixed(1)} s`;
    this.badge.textContent = message.exact ? `exact, ${time}` : `${message.method}, ${time}: ${message.words.split(":")[0]}`;
    this.badge.dataset.tone = message.converged ? "good" : "doubt";
    this.words.textContent = [message.words, ...message.warnings].join(". ");
    this.root.dataset.answered = message.version;
    this.root.dataset.exact = message.exact;
    this.root.dispatchEvent(new CustomEvent("answered", { detail: message.version }));
  }

  showTrouble(message) {
    this.pullDone();
    clearTimeout(this.waiting);
    this.words.textContent = message.words;
    this.badge.textContent = "no answer";
    this.badge.dataset.tone = "doubt";
    this.root.dataset.trouble = message.words;
  }

  showConflict(message) {
    this.pullDone();
    clearTimeout(this.waiting);
    const { whole, body } = this.parts.conflict;
    const blamed = message.blamed.map((name) => make("li", {}, `${name}: ${this.state.words[name]} `, this.taking(name)));
    body.replaceChildren(
      make("strong", {}, "This evidence is impossible."),
      make("p", {}, message.words),
      blamed.length ? make("p", {}, "These cannot be true together; take one back:") : "",
      make("ul", {}, ...blamed),
    );
    whole.hidden = false;
    this.canvas.classList.add("omx-stale");
    for (const key of ["changed", "best", "next"]) this.parts[key].whole.classList.remove("omx-waiting");
    this.badge.textContent = "impossible";
    this.badge.dataset.tone = "doubt";
    this.words.textContent = message.words;
    this.root.dataset.impossible = message.version;
    for (const key of ["changed", "best", "next"]) this.empty(key, "nothing: the evidence is impossible");
    this.weight = "log-probability: −∞";
    this.showEvidence();
  }

  taking(name) {
    return make(
      "button",
      {
        type: "button", class: "omx-take", title: `take back ${name}`, "aria-label": `take back ${name}`,
        onclick: () => this.send({ do: "forget", name }),
      },
      "×",
    );
  }

  empty(key, words) {
    this.parts[key].body.replaceChildren(make("p", { class: "omx-quiet" }, words));
  }

  // The right column.

  showEvidence() {
    const names = Object.keys(this.state.evidence);
    const fixed = Object.entries((this.model && this.model.fixed) || {});
    const items = names.map((name) =>
      make("li", {}, this.link(name), ` ${this.state.words[name]} `, this.taking(name)));
    const given = fixed.map(([name, value]) => make("li", { class: "omx-quiet" }, `${name} ${value}, given`));
    const further = this.model ? this.model.fixed_total - fixed.length : 0;
    if (further > 0) given.push(make("li", { class: "omx-quiet" }, `and ${further.toLocaleString()} more, given`));
    const { body } = this.parts.evidence;
    body.replaceChildren(
      items.length || given.length ? make("ul", {}, ...items, ...given) : make("p", { class: "omx-quiet" }, "nothing yet"),
      names.length && this.weight ? make("p", { class: "omx-weight" }, this.weight) : "",
    );
  }

  link(name) {
    return make(
      "button",
      { type: "button", class: "omx-link", title: name, onclick: () => this.goTo(name) },
      name,
    );
  }

  showWeight(message) {
    if (message.none) this.weight = "";
    else if (message.words) this.weight = `log-probability: ${message.words}`;
    else {
      const nats = message.nats;
      const error = message.error > 0 ? ` ± ${precise(message.error)}` : "";
      const chance = nats > -700 ? `, P = ${precise(Math.exp(nats))}` : "";
      const soft = message.soft ? "; soft evidence counts by its weights" : "";
      this.weight = `log-probability ${nats.toFixed(4)}${error}${message.soft ? "" : chance}${soft}`;
    }
    this.root.dataset.nats = message.nats;
    this.showEvidence();
  }

  showChanged(message) {
    const { body } = this.parts.changed;
    if (!message.rows.length) {
      this.empty("changed", message.first ? "nothing clicked yet" : "nothing to speak of");
      return;
    }
    const items = message.rows.map((row) =>
      make("li", {}, this.link(row.name), make("span", { class: "omx-bits" }, `${bits(row.bits)} bit`),
        make("small", {}, `${row.value} ${percent(row.from)} → ${percent(row.to)}`)));
    const which = message.drawn ? make("p", { class: "omx-quiet" }, "of those drawn here") : "";
    body.replaceChildren(which, make("ol", {}, ...items));
  }

  showBest(message) {
    const { body } = this.parts.best;
    if (message.words) return this.empty("best", message.words);
    this.best = message.values;
    const chance = message.p > 0 ? ` · probability ${precise(message.p)}` : "";
    const items = Object.entries(message.values).map(([name, value]) =>
      make("li", {}, this.link(name), ` ${value}`));
    const left = message.left > 0 ? make("p", { class: "omx-quiet" }, `and ${message.left} more names`) : "";
    body.replaceChildren(
      make("p", { class: "omx-quiet" }, `${message.verdict}${chance}`),
      make("ul", { class: "omx-scroll" }, ...items),
      left,
    );
    for (const [name, box] of this.boxes) box.markBest(this.best[name]);
    return undefined;
  }

  showNext(message) {
    const { body } = this.parts.next;
    if (message.words) return this.empty("next", message.words);
    if (message.none) return this.empty("next", message.target ? `${message.target} is known` : "choose a variable by its name");
    const items = message.rows.map((row) =>
      make("li", {}, this.link(row.name), make("span", { class: "omx-bits" }, `${bits(row.bits)} bit`)));
    body.replaceChildren(
      make("p", { class: "omx-quiet" }, `to learn about ${message.target}${message.of ? `, ${message.of}` : ""}`),
      items.length ? make("ol", {}, ...items) : make("p", {}, "nothing tells of it"),
    );
    return undefined;
  }

  showHistory() {
    const { steps, first, place, total } = this.state;
    const items = steps.map((words, k) => {
      const at = first + k;
      const attributes = {
        type: "button", class: "omx-link", "aria-current": at === place ? "step" : null,
        onclick: () => this.send({ do: "go", to: at }),
      };
      return make("li", { class: at > place ? "omx-undone" : "" }, make("button", attributes, words));
    });
    const earlier = first > 0 ? make("p", { class: "omx-quiet" }, `${first} earlier steps`) : "";
    const later = total - first - steps.length;
    const after = later > 0 ? make("p", { class: "omx-quiet" }, `${later} later steps`) : "";
    this.parts.history.body.replaceChildren(earlier, make("ol", { class: "omx-scroll" }, ...items), after);
  }

  choose(name) {
    const { whole, body, heading } = this.parts.chosen;
    const values = this.valuesOf(name);
    whole.hidden = !name || !values;
    this.chosen = null;
    if (whole.hidden) return;
    heading.textContent = name;
    this.chosen = new Box(this, name, values, 0, true);
    this.chosen.mark(this.state.evidence[name], true);
    this.chosenWords = make("p", { class: "omx-quiet" });
    body.replaceChildren(this.chosen.element, this.chosenWords);
    if (this.rows[name]) {
      this.chosen.show(this.rows[name], this.before[name]);
      this.showChosenWords();
    }
  }

  showChosenWords() {
    const row = this.rows[this.chosen.name];
    const error = Math.max(...row.error);
    this.chosenWords.textContent = row.verdict + (error > 0 ? `, standard error ${precise(error)}` : "");
  }

  valuesOf(name) {
    if (this.boxes.has(name)) return this.boxes.get(name).values;
    if (this.scene && this.scene.kind === "lattice") return this.scene.values;
    return this.tableValues && this.tableValues[name];
  }

  select(name) {
    this.send({ do: "select", name });
  }

  look(name) {
    this.send({ do: "look", name });
  }

  goTo(name) {
    const box = this.boxes.get(name);
    if (box || this.cells || this.model.kind === "table") {
      this.select(name);
      this.moveTo(name);
    } else this.look(name);
  }

  moveTo(name) {
    const box = this.boxes.get(name);
    const cell = this.cells && this.cells[this.scene.cells.indexOf(name)];
    const element = box ? box.element : cell;
    if (!element) return;
    const inside = element.getBoundingClientRect(), around = this.stage.getBoundingClientRect();
    this.stage.scrollLeft += inside.left + inside.width / 2 - around.left - around.width / 2;
    this.stage.scrollTop += inside.top + inside.height / 2 - around.top - around.height / 2;
  }

  // A table of atoms.

  showTable(page) {
    this.page = page;
    this.tableValues = page.values;
    this.rows = { ...this.rows, ...page.rows };
    this.tableRows = [];
    const lines = [];
    for (const [name, row] of Object.entries(page.rows)) {
      const values = page.values[name];
      row.p.forEach((_, k) => lines.push(this.tableLine(name, values, row, k)));
    }
    const last = page.first + Object.keys(page.rows).length;
    const turn = (words, first, off) =>
      make("button", { type: "button", class: "omx-button", disabled: off, onclick: () => this.turn(first) }, words);
    const verdicts = Object.entries(page.verdicts).map(([word, [count, tone]]) =>
      make("span", { class: "omx-badge", "data-tone": tone }, `${count.toLocaleString()} ${word}`));
    this.canvas.className = "omx-canvas omx-table";
    this.canvas.replaceChildren(
      make(
        "div", { class: "omx-tools" },
        turn("‹ Back", page.first - page.size, page.first === 0),
        make("span", {}, page.found ? `${page.first + 1} to ${last} of ${page.found.toLocaleString()}` : "nothing fits"),
        turn("Next ›", page.first + page.size, last >= page.found),
        ...verdicts,
      ),
      make(
        "table", {},
        make("thead", {}, make("tr", {}, ...["name", "probability", "", "verdict"].map((word) => make("th", {}, word)))),
        make("tbody", {}, ...lines),
      ),
    );
    this.sizer.style.width = this.sizer.style.height = "";
    this.markAll();
    const still = this.focusKey && [...this.canvas.querySelectorAll("button")].find((one) => one.dataset.key === this.focusKey);
    if (still) still.focus();
  }

  tableLine(name, values, row, k) {
    const each = new Row(this, name, values[k], true, false);
    each.show(row, k, this.before[name] && this.before[name].p[k]);
    each.place = k;
    const atom = row.p.length === 1 && values.length === 2;
    if (atom) {
      each.no = make("button", {
        type: "button", class: "omx-button omx-no", "aria-pressed": "false", "aria-label": `${name} is ${values[1]}`,
        onclick: () => this.send({ do: "observe", name, value: values[1] }),
      }, values[1]);
    }
    each.line = make(
      "tr", { "data-tone": row.tone },
      make("td", {}, k === 0 ? this.link(name) : ""),
      make("td", {}, each.element),
      make("td", {}, each.no || ""),
      make("td", { class: "omx-verdict" }, k === 0 ? row.verdict : ""),
    );
    for (const [key, part] of [["yes", each.element], ["no", each.no]]) {
      if (!part) continue;
      part.dataset.key = `${key} ${k} ${name}`;
      part.addEventListener("focus", () => { this.focusKey = part.dataset.key; });
    }
    this.tableRows.push(each);
    return each.line;
  }

  turn(first) {
    this.send({ do: "rows", text: this.search.value, first });
  }

  find() {
    if (this.model && this.model.kind === "table") this.turn(0);
    else if (this.search.value) this.send({ do: "find", text: this.search.value });
    else this.found.hidden = true;
  }

  showFound(message) {
    const items = message.names.map((name) =>
      make("li", {}, make("button", { type: "button", class: "omx-link", onclick: () => this.take(name) }, name)));
    const more = message.total - message.names.length;
    if (more > 0) items.push(make("li", { class: "omx-quiet" }, `and ${more.toLocaleString()} more`));
    if (!message.total) items.push(make("li", { class: "omx-quiet" }, "nothing fits"));
    this.found.replaceChildren(...items);
    this.found.hidden = !this.search.value;
  }

  take(name) {
    this.found.hidden = true;
    this.search.value = "";
    if (this.cells) this.goTo(name);
    else this.look(name);
  }

  searchKey(event) {
    const first = this.found.querySelector("button");
    if (event.key === "Escape") this.found.hidden = true;
    if (event.key === "Enter" && first && !this.found.hidden) first.click();
    if (event.key === "ArrowDown" && first) first.focus();
  }

  shortcut(event) {
    if (!(event.ctrlKey || event.metaKey) || event.target.tagName === "INPUT") return;
    const key = event.key.toLowerCase();
    const action = key === "z" ? (event.shiftKey ? "redo" : "undo") : key === "y" ? "redo" : "";
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    this.send({ do: action });
  }

  // Size and place of the drawing.

  setZoom(zoom) {
    this.zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, zoom));
    const [width, height] = this.size || [0, 0];
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.style.transform = `scale(${this.zoom})`;
    this.sizer.style.width = `${width * this.zoom}px`;
    this.sizer.style.height = `${height * this.zoom}px`;
  }

  fit(least) {
    if (!this.size) return;
    const [width, height] = this.size;
    const room = [this.stage.clientWidth / width, this.stage.clientHeight / height];
    this.setZoom(Math.max(least, Math.min(1, ...room)));
    const high = this.stage.clientHeight / this.zoom;
    const middles = ((this.scene && this.scene.boxes) || [])
      .filter((box) => box.y < high)
      .map((box) => box.x + box.w / 2);
    const middle = middles.length ? middles.reduce((a, b) => a + b) / middles.length : width / 2;
    this.stage.scrollLeft = middle * this.zoom - this.stage.clientWidth / 2;
  }

  wheel(event) {
    if (!event.ctrlKey || !this.size) return;
    event.preventDefault();
    this.setZoom(this.zoom * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
  }

  pan(event) {
    if (event.button !== 0 || event.target.closest("button, input, table")) return;
    const { scrollLeft, scrollTop } = this.stage;
    const move = (later) => {
      this.stage.scrollLeft = scrollLeft - (later.clientX - event.clientX);
      this.stage.scrollTop = scrollTop - (later.clientY - event.clientY);
    };
    const end = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
  }

  // What is taken away.

  async copy(text, button, words) {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = words; }, 1500);
  }

  askReport() {
    this.reportButton.textContent = "Writing …";
    this.send({ do: "report" });
  }

  showReport(message) {
    this.reportButton.textContent = "Report page";
    const address = URL.createObjectURL(new Blob([message.page], { type: "text/html" }));
    const link = make("a", { href: address, download: "report.html" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }
}

// In a notebook: messages go through the widget.

function render({ model, el }) {
  const explorer = new Explorer(el, (message) => model.send(message), false);
  const hear = (message) => explorer.hear(message);
  model.on("msg:custom", hear);
  explorer.send({ do: "begin" });
  return () => {
    model.off("msg:custom", hear);
    model.send({ do: "pause" });
  };
}

// On a page of its own: messages go through a web socket, and nobody works while nobody looks.

function connect(root) {
  const address = new URL("socket", location.href);
  address.protocol = "ws:";
  let socket;
  const send = (message) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
  const explorer = new Explorer(root, send, true);
  let delay = RETRY;
  const open = (again) => {
    socket = new WebSocket(address);
    socket.onopen = () => {
      explorer.state.version = 0;
      delay = RETRY;
      send(again ? { do: "begin", evidence: explorer.state.evidence } : { do: "begin" });
    };
    socket.onmessage = (event) => explorer.hear(JSON.parse(event.data));
    socket.onclose = (event) => {
      const why = event.reason || "the connection has ended: perhaps orbitmc explore has, too";
      explorer.showTrouble({ words: why });
      explorer.badge.textContent = "not connected";
      if (event.code === 1008 || event.code === 1013) return;
      setTimeout(() => open(true), delay);
      delay = Math.min(2 * delay, LONGEST_RETRY);
    };
  };
  document.addEventListener("visibilitychange", () => send({ do: document.hidden ? "pause" : "resume" }));
  open(false);
}

const page = document.getElementById("orbitmc-explore");
if (page) connect(page);

export default { render };
