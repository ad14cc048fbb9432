// What is left of an amount while rows are ticked, and the key that presses the button which decides.
for (const left of document.querySelectorAll("[data-total]")) {
  const boxes = [...document.querySelectorAll(`[form="${left.closest("form").id}"][data-amount]`)];
  const decimals = Number(left.dataset.decimals);
  const shape = new Intl.NumberFormat(document.documentElement.lang, {
    minimumFractionDigits: decimals, maximumFractionDigits: decimals, useGrouping: "always",
  });
  const show = () => {
    const ticked = boxes.filter((box) => box.checked).reduce((sum, box) => sum + Number(box.dataset.amount), 0);
    const rest = (Number(left.dataset.total) - ticked) / 10 ** decimals;
    left.querySelector("output").textContent = shape.format(rest).replace("-", "−");
    left.classList.toggle("even", rest === 0);
  };
  left.hidden = false;
  boxes.forEach((box) => box.addEventListener("change", show));
  show();
}
document.addEventListener("keydown", (event) => {
  const isWriting = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (isWriting || event.ctrlKey || event.metaKey || event.altKey) return;
  document.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
});
