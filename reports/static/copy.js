// Copies a key as it is opened. Without scripts, or where copying is not allowed, it stays selectable text.
document.addEventListener("toggle", async (event) => {
  const key = event.target;
  if (!key.matches?.("details.key") || !key.open) return;
  const code = key.querySelector("code");
  getSelection().selectAllChildren(code);
  try {
    await navigator.clipboard.writeText(code.textContent);
    key.classList.add("copied");
  } catch {
    // The key is selected: it can be copied by hand.
  }
}, true);
