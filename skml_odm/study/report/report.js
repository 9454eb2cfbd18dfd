"use strict";
// Tables are sorted by a button in each heading: by numbers where there are any, else by text.
// Cells without a value stay at the end in both directions.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;

  const sort = (column) => {
    const heading = headings[column];
    const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const rows = [...body.rows];
    const isNumeric = rows.some((row) => row.cells[column].dataset.value !== undefined);
    const key = (row) => {
      const cell = row.cells[column];
      if (!isNumeric) return cell.textContent;
      return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    };
    const compare = (a, b) => (isNumeric ? a - b : a.localeCompare(b, "en", { numeric: true }));
    rows
      .map((row) => ({ row, key: key(row) }))
      .sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
        return sign * compare(a.key, b.key);
      })
      .forEach(({ row }) => body.append(row));
    for (const other of headings) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  };

  headings.forEach((heading, column) => {
    if (heading.textContent === "") return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(column));
    heading.append(button);
    heading.setAttribute("aria-sort", "none");
  });
}
