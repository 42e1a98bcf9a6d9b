// Predictions: the output of a run, and the text that discusses it, are hidden until the reader has
// said what the output will be. Each form stands before its output and carries the right answer,
// which ./lab docs took from that output. Nothing is kept and nothing is sent.
"use strict";
(() => {
  const bytes = {
    B: 1, bytes: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
    KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
  };

  // "35 kB" in the unit that is asked for; NaN when it is no number.
  const numberOf = (typed, unit) => {
    const [, digits, own] =
      typed.trim().match(/^([-+]?(?:\d[\d,_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(.*)$/i) ?? [];
    const value = digits === undefined ? NaN : Number(digits.replace(/[,_]/g, ""));
    if (!own || own === unit) return value;
    return value * bytes[own] / bytes[unit];  // NaN unless both are units of bytes
  };

  // What is said of an answer; "" when it is none.
  const verdict = (form, answers) => {
    const { choice, number, close, unit } = form.dataset;
    if (choice !== undefined) {
      const chosen = [...answers].find((answer) => answer.checked);
      if (!chosen) return "";
      const right = [...answers].find((answer) => answer.value === choice);
      const says = right.parentElement.textContent.trim();
      return chosen === right ? "Right: " + says : "Not as predicted: " + says;
    }
    const yours = numberOf(answers[0].value, unit);
    if (Number.isNaN(yours)) return "";
    const seen = Number(number);
    const right = Math.abs(yours - seen) <= (Number(close) + 1e-12) * Math.abs(seen);
    const ratio = yours === seen || seen === 0
      ? "" : ` (yours is ${Number((yours / seen).toPrecision(3))} times that)`;
    const shown = seen.toLocaleString("en", { maximumSignificantDigits: 15 });
    return `${right ? "Right" : "Not as predicted"}: ${shown} ${unit}`.trim() + ratio;
  };

  // The output and what follows, up to the next heading or through the next form.
  const givenAwayBy = (said) => {
    const hidden = [];
    let at = said.nextElementSibling;
    while (at && !/^H[1-6]$/.test(at.tagName)) {
      hidden.push(at);
      if (at.matches("form.predict")) break;
      at = at.nextElementSibling;
    }
    return hidden;
  };

  for (const form of document.querySelectorAll("form.predict")) {
    const said = form.nextElementSibling;
    const spoilers = givenAwayBy(said);
    const answers = form.querySelectorAll("input");
    form.classList.add("asks");
    for (const spoiler of spoilers) spoiler.hidden = true;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const words = verdict(form, answers);
      said.className = "prediction " + (words.startsWith("Right") ? "right" : "missed");
      said.textContent = words || "First say what you expect.";
      if (!words) return;
      for (const spoiler of spoilers) spoiler.hidden = false;
      form.querySelector("button").hidden = true;
      for (const answer of answers) answer.disabled = true;
    });
  }
})();
