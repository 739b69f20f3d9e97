// Filters and sorts the table of claims on a report's first page. Without scripts the table is whole.
"use strict";
(() => {
  const table = document.getElementById("claims");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const controls = document.getElementById("controls");
  const shown = document.getElementById("shown");
  controls.hidden = false;

  // By what rows are sorted: figures have the order in which the page lists them.
  const keys = {
    verdict: (row) => row.cells[0].textContent,
    claim: (row) => row.querySelector("a").textContent,
    figure: (row) => String(rows.indexOf(row)),
  };

  // The filters are in the address, so that a link leads to a part of the table.
  const fields = [...controls.querySelectorAll("[name]")];
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const field of fields) field.value = wanted.get(field.name) ?? "";
  for (const field of fields) if (field.selectedIndex === -1) field.value = "";

  function filter() {
    const chosen = Object.fromEntries(fields.map((field) => [field.name, field.value]));
    const words = chosen.text.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden =
        (chosen.paper !== "" && row.dataset.paper !== chosen.paper) ||
        (chosen.verdict !== "" && keys.verdict(row) !== chosen.verdict) ||
        !words.every((word) => text.includes(word));
      count += row.hidden ? 0 : 1;
    }
    shown.textContent = `${count} of ${rows.length} claims`;
    return chosen;
  }

  function changed() {
    const chosen = Object.entries(filter()).filter(([, value]) => value !== "");
    history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
  }

  // Rows have the place of their cell in the order of each column; a second click turns it round.
  function sort(button) {
    const head = button.closest("th");
    const falls = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const value = keys[button.dataset.key];
    const order = (a, b) => value(a).localeCompare(value(b), "en", { numeric: true });
    const sorted = [...rows].sort((a, b) => (falls ? order(b, a) : order(a, b)));
    body.append(...sorted);
  }

  controls.addEventListener("input", changed);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("reset", () => setTimeout(changed));
  for (const button of table.querySelectorAll("thead button")) {
    button.addEventListener("click", () => sort(button));
  }
  const copy = document.getElementById("copy");
  copy.hidden = !navigator.clipboard;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById("summary").innerText);
    copy.textContent = "copied";
  });
  filter();
})();
