/* One key a decision. Without scripts, every key is a button or a link that works as ever. */
"use strict";

const REMEMBERED = "tender-review-keys";
const toggle = document.getElementById("keys");

function on() {
  return localStorage.getItem(REMEMBERED) !== "off";
}

function shown() {
  if (toggle === null) return;
  toggle.parentElement.hidden = false;
  toggle.textContent = on() ? "Turn the keys off" : "Turn the keys on";
}

function typing(target) {
  return target.matches("input:not([type=hidden]), select, textarea");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (typing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (!on()) return;
  const digit = event.code.match(/^(?:Digit|Numpad)([1-9])$/);
  if (event.shiftKey && digit !== null) {
    document.querySelector(`[data-shift="${digit[1]}"]`)?.click();
    return;
  }
  const key = event.key === "/" ? "o" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (found === null) return;
  event.preventDefault();
  if (found.matches("input")) {
    found.focus();
    found.select();
  } else {
    found.click();
  }
});

/* A second press while the first is under way would decide the next text. */
let sent = false;
document.addEventListener("submit", (event) => {
  if (sent) event.preventDefault();
  sent = true;
});
addEventListener("pageshow", () => { sent = false; });

if (toggle !== null) {
  toggle.addEventListener("click", () => {
    localStorage.setItem(REMEMBERED, on() ? "off" : "on");
    shown();
  });
  shown();
}
