// Lists by keyboard: j and k move, x ticks, Enter opens the link in focus, Esc leaves, ? shows this; on the page of one
// exception j and k lead to the next and the previous. And how many rows are ticked, with their sum.
(() => {
  const rows = [...document.querySelectorAll(".list tbody tr")].filter((row) => row.querySelector("a[href]"));
  const boxes = [...document.querySelectorAll(".list input[name=pick]")];
  const chosen = document.querySelector("[data-chosen]");
  const help = document.querySelector("details.keys");
  if (help && rows.length) help.hidden = false;

  const here = () => rows.indexOf(document.activeElement.closest("tr"));

  const move = (step) => {
    const near = document.querySelector(`.crumb a[rel=${step > 0 ? "next" : "prev"}]`);
    if (near) return near.click();
    rows[Math.min(Math.max(here() + step, 0), rows.length - 1)]?.querySelector("a[href]").focus();
  };

  const leave = () => {
    if (help) help.open = false;
    document.querySelector("details.more-pages").open = false;
    document.activeElement.blur();
  };

  const deeds = {
    j: () => move(1),
    k: () => move(-1),
    x: () => rows[here()]?.querySelector("input[name=pick]")?.click(),
    "?": () => help && (help.open = !help.open) && help.scrollIntoView({ block: "nearest" }),
    Escape: leave,
  };

  const show = () => {
    const ticked = boxes.filter((box) => box.checked);
    const sums = new Map();
    for (const { dataset } of ticked) {
      const before = sums.get(dataset.currency)?.amount ?? 0;
      sums.set(dataset.currency, { amount: before + Number(dataset.amount), decimals: Number(dataset.decimals) });
    }
    const said = [...sums].map(([currency, { amount, decimals }]) => {
      const shape = { minimumFractionDigits: decimals, maximumFractionDigits: decimals, useGrouping: "always" };
      const figure = new Intl.NumberFormat(document.documentElement.lang, shape).format(amount / 10 ** decimals);
      return ` · ${figure} ${currency}`;
    });
    chosen.textContent = `${ticked.length}${said.join("")}`;
    if (ticked.length) chosen.closest("details").open = true;
  };
  if (chosen) {
    boxes.forEach((box) => box.addEventListener("change", show));
    show();
  }

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (!Object.hasOwn(deeds, event.key)) return;
    deeds[event.key]();
    if (event.key !== "Escape") event.preventDefault();
  });
})();
