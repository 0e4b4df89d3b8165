/* Adds copying to what pages show once. Without scripts the text can be selected as ever. */
"use strict";

for (const button of document.querySelectorAll("button[data-copies]")) {
  const field = document.getElementById(button.dataset.copies);
  const said = document.getElementById(button.dataset.says);
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "Selected: copy it with your keyboard.";
    }
  });
}
